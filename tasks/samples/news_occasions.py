"""Occasions in the news of the built-in sample: elections, openings, matches, strikes and finds, each a grammar.

The sections of a kind of event are explained in `samples/news.py`; `BACKGROUND` and `CLOSING` are of every kind.
"""

from __future__ import annotations

__all__ = ["BACKGROUND", "CLOSING", "OCCASIONS"]

OCCASIONS = {
    "election": """
== facts
age = {31-66}
party = {side}
loser = {side}
promise = {promise}
share = {42-58}
less = {23-38}
turnout = {52-81}
term = {few 4-12}
== lead
{chief} of the {party} was elected mayor of {place} on {day} with {share} percent of the vote, beating {rival} of the
 {loser}, who had governed the town for {term} years.
Voters in {place} made {chief} of the {party} their new mayor on {day}, giving {chief.him} {share} percent and only
 {less} percent to {rival} of the {loser}, mayor for {term} years.
== first
{rival.last} received {less} percent after {term} years in office, and turnout was {turnout} percent.
Turnout was {turnout} percent, and {rival.last} won {less} percent after {term} years in office.
== second
{chief.last}, a {age}-year-old {trade}, promised to {promise}.
In the campaign {chief.last}, {age}, a {trade} by profession, had promised to {promise}.
== chief
"Tonight we celebrate, and tomorrow we begin to work," {chief.last} told {chief.his} supporters.
"I shall be the mayor of those who did not vote for me, too," {chief.last} said.
"This town has waited {term} years for a change," said {chief.last}.
== witness
"I voted for the only one who came to our street," said {witness}, a voter.
"They all promise the same, but I like {chief.his} plan," said {witness}, who voted in the {school}.
"I have never stood so long in a queue," said {witness}, a {shop} owner.
== more
{rival.last} congratulated the winner by telephone shortly after {few 8-11} in the evening.
A third candidate withdrew in {month} and advised nobody how to vote.
The new council will meet for the first time in {month}.
Observers from {other} said that the count had been fair and quick.
In the harbour district one ballot box had to be counted twice.
The campaign had been about rents, buses and the price of {food}.
Young voters preferred the {party} in most parts of the town, according to a survey.
The town has {14000-96000/1000} voters.
== summary
{place} has a new mayor after {chief} of the {party} beat {rival} in an election on {day}.
{chief} has been elected mayor of {place}, ending {term} years of government by {rival}.
Voters in {place} have ended the {term} years of mayor {rival} and chosen {chief} of the {party}.
== point 1
{chief} of the {party} is elected mayor of {place}.
{place} elects {chief} as its mayor.
== point 2
{chief.he} wins {share} percent, and {rival} wins {less}.
{rival} gets only {less} percent after {term} years.
== point 3
{chief.last}, {age}, has promised to {promise}.
The new mayor promises to {promise}.
== point 4
Turnout is {turnout} percent.
{turnout} percent of the voters take part.
== headline
{chief.last} elected mayor of {place} with {share} percent
{place} elects {chief.last}, ends {term} years of {rival.last}
{party} wins {place} election with {share} percent
{chief.last} beats {rival.last} in {place} mayor election
New mayor for {place} as {rival.last} loses election
{rival.last} loses {place} election after {term} years
""",
    "opening": """
== facts
work = {work}
cost = {4-96}
late = {few 2-7}
crowd = {600-9000/100}
post = {ruler}
== lead
A {work} that cost {cost} million crowns and was finished {late} years late was opened in {place} on {day} by {chief},
 the {post} of {region}, before a crowd of {crowd} people.
{chief}, the {post} of {region}, opened a {work} in {place} on {day} before {crowd} people, {late} years later than
 planned and at a cost of {cost} million crowns.
== first
The {work} was designed by {rival}, who had won a competition with {12-64} entries.
{rival}, who designed the {work}, said it was the most difficult thing {rival.he} had ever built.
== second
The first to enter was {witness}, a {age}-year-old {trade} from {place}.
{witness}, {age}, a {trade}, had waited since midnight and was the first to go in.
== chief
"Good things take their time, and this one took ours," {chief.last} said.
"We did not build this for ourselves but for our children," said {chief.last}.
"Nobody will speak of the delay in ten years," {chief.last} said.
== witness
"It is bigger than I had imagined," {witness.last} said.
"I came with my {kin}, who did not believe it would ever be finished," said {witness.last}.
"I would have waited another week," {witness.last} said.
== more
A choir from the {school} sang, and the fire brigade gave away {food}.
Critics had called the plan too expensive, and {few 3-9} councillors stayed away.
Work began in {year 2001-2014} and stopped twice when old walls were found in the ground.
The builders used {stone} from a quarry near {other}.
Admission will be free until the end of {month}.
Around {120-900/20} people worked on the site in the busiest year.
The town hopes for {20-90} thousand visitors a year.
A {shop} and a small park will follow next year.
== summary
After a delay of {late} years, {place} has opened a {work} that cost {cost} million crowns.
A {work} costing {cost} million crowns has been opened in {place}, {late} years later than planned.
{chief} has opened a {work} in {place} that came {late} years later than planned and cost {cost} million crowns.
== point 1
{chief}, the {post} of {region}, opens a {work} in {place}.
A {work} opens in {place}.
== point 2
It cost {cost} million crowns and comes {late} years late.
The building comes {late} years later than planned.
== point 3
{rival} designed the {work}.
The {work} was designed by {rival}.
== point 4
{witness}, {age}, is the first to go in.
A {trade} of {age} is the first visitor.
== headline
{place} opens {work} {late} years late
{cost} million crown {work} opens in {place}
{chief.last} opens {work} in {place} before {crowd} people
{place} gets its {work} after {late}-year delay
Crowd of {crowd} sees {work} open in {place}
{work} in {place} opened at last by {chief.last}
""",
    "match": """
== facts
age = {18-34}
home = {place} {club}
away = {other} {club}
goals = {few 2-3}
won = {3-5}
lost = {0-2}
crowd = {2500-38000/100}
clear = {few 2-9}
league = {league}
== lead
{chief} scored {goals} goals as {home} beat {away} {won}-{lost} in front of {crowd} spectators on {day} and went {clear}
 points clear at the top of the {league}.
{home} beat {away} {won}-{lost} on {day} with {goals} goals by {chief} and are now {clear} points clear at the top of
 the {league}, to the joy of {crowd} spectators.
== first
{chief.last}, {age}, who joined from {third} in {month}, scored the first goal after {few 3-12} minutes.
The first goal came after {few 3-12} minutes from {chief.last}, {age}, who joined from {third} in {month}.
== second
{away} had not lost for {few 5-12} matches, and their captain {rival} was sent off in the second half.
For {away}, unbeaten in {few 5-12} matches, it got worse when their captain {rival} was sent off.
== chief
"I shot and hoped, and the hope was good," {chief.last} said.
"My {kin} was in the stand, so I had to score," said {chief.last}.
"There are many matches to come," {chief.last} said.
== witness
"We were asleep for half an hour," said {witness}, who trains {away}.
"I cannot blame the referee, only ourselves," said {witness}, the trainer of {away}.
"They were faster and they wanted it more," said {witness}, coach of {away}.
== more
The goalkeeper held a penalty just before the break.
Rain made the grass heavy, and both sides lost the ball often.
{home} hit the post {few 2-4} times in the first half.
A substitute from the youth team had the best chance after the break.
The return match will be played in {month}.
Supporters sang until long after the lights were switched off.
The referee stopped the match for {few 3-10} minutes because of fog.
{home} will play against {third} next week without two injured defenders.
== summary
{home} have strengthened their lead in the {league} by beating {away} {won}-{lost} with {goals} goals from {chief}.
{chief} has scored {goals} goals in a {won}-{lost} win that puts {home} {clear} points clear.
A {won}-{lost} win over {away} has put {home} {clear} points clear at the top of the {league}.
== point 1
{home} beat {away} {won}-{lost}.
{away} lose {won}-{lost} to {home}.
== point 2
{chief}, {age}, scores {goals} goals.
{chief} scores {goals} times, first after a few minutes.
== point 3
{home} are {clear} points clear in the {league}.
The winners lead the {league} by {clear} points.
== point 4
{rival}, captain of {away}, is sent off.
{away} lose their captain {rival} to a red card.
== headline
{home} beat {away} {won}-{lost} to stretch lead
{chief.last} scores {goals} as {home} beat {away}
{home} {clear} points clear after {won}-{lost} win
{away} lose {won}-{lost} at {home} and see red
{won}-{lost} win over {away} puts {home} clear
{goals} goals by {chief.last} sink {away} in {place}
""",
    "strike": """
== facts
union = {union}
firm = {firm}
staff = {300-4800/50}
pay = {few 3-12}
weeks = {few 2-6}
work = {job}
== lead
Some {staff} {work} at {firm} in {place} went on strike on {day}, demanding {pay} percent more pay, after {weeks} weeks
 of talks between the company and the {union} had failed.
The {union} called {staff} {work} at {firm} in {place} out on strike on {day} after {weeks} weeks of talks about a
 demand for {pay} percent more pay had failed.
== first
{chief}, who leads the {union}, said that the company had offered less than half of that.
According to {chief}, the head of the {union}, the offer was less than half of what is needed.
== second
{rival}, the director of {firm}, said that the strike would cost {2-19} million crowns a week.
{firm} would lose {2-19} million crowns a week, said its director, {rival}.
== chief
"We can wait longer than they can," {chief.last} said.
"Prices have gone up every month, and our pay has not," said {chief.last}.
"Nobody strikes for fun in this weather," {chief.last} said.
== witness
"I have worked here since I left school, and I can no longer pay my rent," said {witness}, {age}.
"My shift begins at {few 4-6}, and today I am here with a flag instead," {witness}, {age}, said.
"We want to be heard, that is all," said {witness}, who is {age} and has {few 2-5} children.
== more
Pickets stood at {few 2-5} gates and warmed their hands at burning barrels.
The {ruler} of {region} offered to help both sides to find an agreement.
Ships and lorries waited in a queue of {few 3-12} kilometres.
A bakery near the gate brought {food} to the pickets.
The last strike at {firm}, in {year 1979-2009}, ended after {few 5-12} days.
Work in {other}, where the company has a second site, went on as usual.
Shares of the company fell by {0.6-4.9} percent.
Talks are to begin again before the end of {month}.
== summary
{work} at {firm} in {place} have stopped work to win {pay} percent more pay.
A strike over pay has begun in {place}, where {staff} {work} at {firm} want {pay} percent more.
Talks about pay at {firm} have failed, and {staff} {work} in {place} are on strike.
== point 1
{staff} {work} at {firm} in {place} go on strike.
A strike begins at {firm} in {place}.
== point 2
They demand {pay} percent more pay.
The {union} wants {pay} percent more.
== point 3
{chief}, head of the {union}, says the offer was too small.
The offer was less than half, says {chief}.
== point 4
{weeks} weeks of talks have failed.
Director {rival} speaks of millions lost.
== headline
{staff} {work} strike at {firm} in {place}
{firm} {work} in {place} strike for {pay} percent
Talks fail and {work} strike at {firm}
{union} calls strike at {firm} over pay
Strike stops {firm} in {place} after talks fail
{work} in {place} demand {pay} percent, go on strike
""",
    "discovery": """
== facts
find = {find}
old = {1200-9400/100}
under = {under}
team = University of {other}
metres = {few 2-9}
== lead
Archaeologists have found a {find} that is about {old} years old under a {under} in {place}, {metres} metres below
 the ground, the {team} said on {day}.
A {find} about {old} years old has been found under a {under} in {place} in {region} by archaeologists of the
 {team}, who told of it on {day}.
== first
{chief}, who leads the dig, said that the {find} lay {metres} metres deep and was almost whole.
The {find}, {metres} metres down, is almost whole, according to {chief}, who leads the dig.
== second
It was {witness}, a {age}-year-old {trade}, who had noticed a strange stone and called the {team}.
The {team} had been called by {witness}, {age}, a {trade}, who had seen a strange stone.
== chief
"We expected a few pots and found a whole chapter of history," {chief.last} said.
"I have dug for {few 9-12} years and never seen such colours," said {chief.last}.
"Whoever lived here traded with people beyond the sea," {chief.last} said.
== witness
"I only wanted to plant an apple tree," {witness.last} said.
"My {kin} always said that there was something down there," said {witness.last}.
"I nearly threw it away," {witness.last} said.
== more
Beside it lay {12-90} beads of {stone} and the bones of a {animal}.
Students sieved {few 3-12} tons of earth by hand.
The oldest thing known from {region} until now had been found in {other} in {year 1890-1975}.
Building work at the place has been stopped until {month}.
The find will be shown in {place} as soon as it has been cleaned.
Samples were sent to a laboratory in {third}, which confirmed the age.
Guards watch the place at night, for coins were stolen from a dig last year.
Schools from the whole district have asked for a visit.
== summary
A {find} about {old} years old has come to light under a {under} in {place}.
Archaeologists working in {place} have dug up a {find} that had been in the ground for {old} years.
The {team} has found a {find} about {old} years old in {place}.
== point 1
A {find} is found under a {under} in {place}.
Archaeologists find a {find} in {place}.
== point 2
It is about {old} years old.
The {team} says it is {old} years old.
== point 3
It lay {metres} metres deep, says {chief}.
{chief} leads the dig.
== point 4
{witness}, {age}, had seen a strange stone.
A {trade} of {age} had called the {team}.
== headline
{find} of {old} years found in {place}
{old}-year-old {find} found under {place} {under}
Archaeologists find {find} under {under} in {place}
{place} {under} hid {find} of {old} years
{team} finds ancient {find} in {place}
Ancient {find} comes to light under {place} {under}
""",
}

BACKGROUND = """
{place}, a town of {9-240},000 people in {region}, lies on the {river}.
The town of {place} is best known for its {food} and its {stone}.
{place} and {other} are {18-95} kilometres apart.
Nearly a third of the people in {place} make a living from {industry}.
It was the talk of {place} all day, in the {shop} as well as in the {school}.
The {adjective} news reached {region} first by radio.
{place} has {few 2-5} bridges, one cinema and a clock that is always late.
Newspapers in {third} printed the story on their first page.
"""

CLOSING = """
A report is expected in {month}.
The council of {place} will discuss the matter in {month}.
More is to be made known at a meeting in the {school} next week.
People in {place} will not forget this {day}.
By the evening the streets of {place} were quiet again.
A minister is expected in {place} before the end of the week.
"""
