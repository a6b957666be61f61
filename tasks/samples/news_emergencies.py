"""Emergencies in the news of the built-in sample: floods, fires, rescues, thefts and trials, each a grammar.

The sections of a kind of event are explained in `samples/news.py`.
"""

from __future__ import annotations

__all__ = ["EMERGENCIES"]

EMERGENCIES = {
    "flood": """
== facts
river = {river}
homes = {40-960/10}
roads = {few 3-9}
rain = {40-140/5}
post = {rescuer}
== lead
The river {river} burst its banks in {place} on {day} after {rain} millimetres of rain, driving people from {homes}
 homes and closing {roads} roads in {region}, the {post} said.
People were driven from {homes} homes in {place} on {day} when the river {river} burst its banks after {rain}
 millimetres of rain fell on {region} and closed {roads} roads.
== first
{chief}, the {post}, said nobody was missing but warned that the {river} would not fall for another {few 2-5} days.
The {post}, {chief}, said that everybody had been found and that the water would stay for {few 2-5} days.
== second
{witness}, a {age}-year-old {trade}, was taken from the roof of {witness.his} house by boat.
One of those led to safety was {witness}, {age}, a {trade}, who spent the night on a roof.
== chief
"We have never seen the {river} rise as fast as this," {chief.last} said.
"Please do not go back for your belongings," {chief.last} said.
"The worst is over, but the water is still higher than a car," said {chief.last}.
"Our boats have gone from door to door all night," {chief.last} said.
== witness
"I heard the water before I saw it," {witness.last} said.
"The furniture was floating when I came down the stairs," said {witness.last}.
"I only saved the {animal} and a bag of letters," {witness.last} said.
== more
The {school} became a shelter, where volunteers gave out blankets and {food}.
Soldiers filled {2000-9000/500} sacks with sand and carried them to the old bridge.
Trains between {place} and {other} were stopped, and buses had to take the road over the hills.
Farmers moved their {many animal} to higher fields before it grew dark.
The water stood {few 2-4} metres deep in the market square and broke the windows of the {shop}.
Power was cut off in the lower streets to prevent accidents.
Engineers from {other} brought {12-40} pumps on lorries.
The weather service said that the rain would move to the east by the next evening.
== summary
A river has flooded part of {place} after heavy rain, and people from {homes} homes have had to leave.
People have been taken from {homes} flooded homes in {place}, where the {river} broke through its banks.
Heavy rain in {region} has flooded {homes} homes and closed {roads} roads around {place}.
== point 1
The {river} bursts its banks in {place}, and people from {homes} homes leave.
Water drives people from {homes} homes in {place}.
== point 2
{chief}, the {post}, says nobody is missing.
Everybody has been found, says {chief}, the {post}.
== point 3
{witness}, {age}, is saved from a roof.
A {trade} of {age} spends the night on a roof.
== point 4
{rain} millimetres of rain close {roads} roads in {region}.
The flood closes {roads} roads.
== headline
{river} floods drive people from {homes} homes in {place}
Flood in {place} forces people from {homes} homes
River {river} bursts its banks in {place}, {homes} homes emptied
{homes} homes flooded as {river} rises in {place}
Heavy rain floods {place} and closes {roads} roads
{rain} millimetres of rain flood {homes} homes in {place}
""",
    "fire": """
== facts
hall = {hall}
room = {room}
hurt = {few 2-9}
crews = {24-160/4}
hours = {few 3-11}
post = {rescuer}
== lead
A fire that burned for {hours} hours destroyed a {hall} in {place} in {region} on {day} and left {hurt} people in
 hospital, although {crews} firefighters had been sent, the {post} said.
{hurt} people were taken to hospital on {day} after a fire destroyed a {hall} in {place}, where {crews} firefighters
 fought the flames for {hours} hours before rain came to their help.
== first
{chief}, the {post}, said the fire had started in a {room} and that nobody was in danger of death.
According to {chief}, the {post}, it began in a {room}, and none of the injured was in danger.
== second
{witness}, a {age}-year-old {trade}, saw the smoke first and broke a door to let the others out.
It was {witness}, {age}, a {trade}, who gave the alarm and broke open a door.
== chief
"When we arrived the roof was already gone," {chief.last} said.
"It is luck alone that the wind turned," said {chief.last}.
"We shall find out why no alarm was heard," {chief.last} said.
== witness
"I shouted until my voice was gone," {witness.last} said.
"There was a smell of burning paper, and then everything was black," said {witness.last}.
"Anybody would have broken that door," {witness.last} said.
== more
The smoke could be seen from {other}, {12-45} kilometres away.
People in the neighbouring streets were told to keep their windows shut.
Water had to be pumped from the {river} because the pipes were too narrow.
The building was put up in {year 1860-1980} and had been repaired only a few months ago.
Two schools stayed closed, and the tram to the {shop} did not run.
A neighbour brought tea and {food} to the crews.
Experts will search the ruin as soon as the walls have cooled.
The owner said that the building was insured and would be built again.
== summary
A {hall} in {place} has been destroyed by a fire in which {hurt} people were hurt.
Fire has destroyed a {hall} in {place}, and {hurt} people are being treated in hospital.
It took {crews} firefighters {hours} hours to put out a fire at a {hall} in {place}.
== point 1
Fire destroys a {hall} in {place}.
A {hall} in {place} burns for {hours} hours.
== point 2
{hurt} people are in hospital.
The fire leaves {hurt} people in hospital.
== point 3
{witness}, {age}, broke open a door.
A {trade} of {age} let the others out.
== point 4
{chief}, the {post}, says it started in a {room}.
It began in a {room}, says {chief}.
== headline
Fire destroys {hall} in {place}, {hurt} people hurt
{hurt} hurt as fire destroys {hall} in {place}
{place} {hall} burns down, {hurt} taken to hospital
{crews} firefighters fail to save {hall} in {place}
Fire burns for {hours} hours at {place} {hall}
{hurt} in hospital after {hours}-hour fire in {place}
""",
    "rescue": """
== facts
who = {many wanderer}
saved = {few 3-9}
hours = {13-68}
trap = {trap}
depth = {depth}
post = {rescuer}
== lead
Rescuers brought {saved} {who} to safety on {day} after {hours} hours in a {trap} near {place}, where they had been
 caught by rising water {depth} from the way out.
{saved} {who} who had been caught for {hours} hours in a {trap} near {place} in {region}, {depth} from the way out,
 were brought to safety on {day}.
== first
{chief}, the {post}, said that one of them had broken a leg and that the others were only cold and hungry.
Only one of them was hurt, with a broken leg, said {chief}, the {post}.
== second
{witness}, {age}, a {trade} who led the group, had sent a last message for help.
Their leader, {witness}, a {age}-year-old {trade}, had been able to send one message.
== chief
"We heard them sing before we saw their lamps," {chief.last} said.
"They did everything right once they had done the first thing wrong," said {chief.last}.
"Without the message we would have searched on the wrong side," {chief.last} said.
== witness
"We told each other stories and shared the last {food}," {witness.last} said.
"I knew that they would come, but I did not know when," said {witness.last}.
"Next time I will look at the sky first," {witness.last} said.
== more
Around {40-180/10} helpers and {few 2-6} dogs took part in the search.
A helicopter had to turn back twice because of the wind.
Relatives had waited all night in the {school} of {place}.
Divers carried medicine and dry clothes to the group.
The {saved} had set out in sunshine, without tents or warm coats.
In {year 1988-2012} a group from {other} had been lost at the same spot.
The way there will stay closed until {month}.
Doctors said that all of them could go home within a week.
== summary
{saved} {who} have been found alive in a {trap} near {place} after {hours} hours.
A group of {who} has been saved from a {trap} near {place} after {hours} hours of waiting.
Rescuers near {place} have reached {saved} {who} who were caught in a {trap} for {hours} hours.
== point 1
{saved} {who} are saved from a {trap} near {place}.
Rescuers bring {saved} {who} to safety near {place}.
== point 2
They had waited for {hours} hours.
The rescue came after {hours} hours.
== point 3
{chief}, the {post}, says one of them broke a leg.
Only one is hurt, says {chief}, the {post}.
== point 4
{witness}, {age}, had sent a message for help.
Their leader is {witness}, a {trade} of {age}.
== headline
{saved} {who} saved from {trap} near {place}
{saved} {who} found alive after {hours} hours near {place}
Rescuers reach {saved} {who} in {trap} near {place}
{who} saved after {hours} hours in {trap} near {place}
{place} rescue ends {hours}-hour wait of {saved} {who}
Message saves {saved} {who} caught in {place} {trap}
""",
    "theft": """
== facts
loot = {loot}
museum = {museum}
worth = {40-980/5}
held = {few 2-5}
minutes = {few 3-12}
post = {police}
== lead
Thieves took {loot} worth {worth},000 crowns from the {museum} in {place} in a raid of {minutes} minutes before dawn
 on {day}, and police later held {held} people in {other}, the {post} said.
Police in {other} held {held} people on {day} after {loot} worth {worth},000 crowns had been stolen from the {museum} in
 {place} in a raid of only {minutes} minutes.
== first
{chief}, the {post}, said the thieves had needed {minutes} minutes and had come through the roof.
The thieves came through the roof and stayed for {minutes} minutes, said {chief}, the {post}.
== second
A guard, {witness}, {age}, was locked in a cupboard but not hurt.
{witness}, the {age}-year-old guard, was found in a cupboard, unhurt.
== chief
"They knew exactly what they wanted," {chief.last} said.
"We have the people, but we do not have what they took," said {chief.last}.
"A child saw the car and wrote down its number," {chief.last} said.
== witness
"They were polite and asked whether I had enough air," {witness.last} said.
"I heard them laugh, and then it was quiet," said {witness.last}.
"I have guarded this house for {few 6-12} years and never locked that cupboard," {witness.last} said.
== more
The museum was to open a new alarm system in {month}.
Nobody could sell such things openly, experts said.
A grey van was found burning beside the road to {third}.
The museum will stay closed for {few 2-6} days.
The raid was the second in {region} this year.
A reward of {10-60/5},000 crowns was offered for the return.
Visitors left flowers and a drawing at the door.
The collection was a gift of a {trade} in {year 1880-1960}.
== summary
Police have arrested {held} people after {loot} worth {worth},000 crowns vanished from a museum in {place}.
The {museum} in {place} has lost {loot} to thieves who came through the roof.
Thieves in {place} have stolen {loot}, and {held} people are being questioned in {other}.
== point 1
Thieves take {loot} from the {museum} in {place}.
The {museum} in {place} loses {loot}.
== point 2
The loot is worth {worth},000 crowns.
It is valued at {worth},000 crowns.
== point 3
Police hold {held} people in {other}.
{held} people are held in {other}.
== point 4
{witness}, a guard of {age}, is unhurt.
The raid took {minutes} minutes, says {chief}, the {post}.
== headline
Thieves take {loot} from {museum} in {place}
{loot} stolen from {place} museum, {held} people held
Police hold {held} after theft of {loot}
{place} museum robbed of {loot} in {minutes} minutes
{held} people held in {other} over stolen {loot}
{minutes}-minute raid costs {place} museum {loot}
""",
    "trial": """
== facts
firm = {firm}
sum = {2-48}
prison = {few 2-9}
victims = {120-2900/10}
months = {few 3-11}
== lead
A court in {place} sent {rival}, the former director of {firm}, to prison for {prison} years on {day} for taking {sum}
 million crowns from {victims} savers in {region}.
{rival}, who once directed {firm}, was sent to prison for {prison} years by a court in {place} on {day} for having
 cheated {victims} savers out of {sum} million crowns.
== first
The judge, {chief}, said after a trial of {months} months that {rival.last} had lied to {rival.his} own staff.
After {months} months of trial the judge, {chief}, said that {rival.last} had deceived even {rival.his} friends.
== second
{witness}, a {age}-year-old {trade}, lost all {witness.he} had put aside.
One of the savers, {witness}, {age}, a {trade}, lost everything {witness.he} had.
== chief
"You knew every one of these people by name," {chief.last} said.
"The court has seldom seen such careful books about such careless lies," said {chief.last}.
"Regret that comes after the police is worth little," {chief.last} said.
== witness
"The money will not come back, but now I can sleep," {witness.last} said.
"I trusted a good suit," said {witness.last}.
"I had hoped for more years," {witness.last} said.
== more
The accused heard the sentence without a word.
{rival.last}'s lawyer said that they would appeal before {month}.
The money had gone into a yacht, {few 3-9} horses and a house near {other}.
The company had collapsed in {year 1998-2016} after a letter from a clerk.
Some {12-60} witnesses were heard, one of them by telephone from {third}.
Savers had come by bus and waited at the door with {food} and coffee.
The town will have to pay for part of the loss.
Two accountants had been sentenced in {month}.
== summary
The former director of {firm} has been jailed for {prison} years for cheating {victims} savers.
{rival} has been given {prison} years in prison for taking {sum} million crowns from savers.
A court in {place} has jailed {rival} for {prison} years over {sum} million crowns taken from savers.
== point 1
{rival} goes to prison for {prison} years.
A court in {place} jails the former director of {firm}.
== point 2
{victims} savers lost {sum} million crowns.
{rival} had taken {sum} million crowns from savers.
== point 3
The judge is {chief}, and the trial took {months} months.
The trial took {months} months.
== point 4
{witness}, {age}, lost everything.
A {trade} of {age} lost everything.
== headline
Former {firm} director {rival.last} jailed for {prison} years
{rival.last} gets {prison} years for cheating {victims} savers
{place} court jails {rival.last} for {prison} years
{prison} years in prison for former {firm} director
{rival.last} jailed over {sum} million crowns of savers
Court in {place} jails director who cheated {victims}
""",
}
