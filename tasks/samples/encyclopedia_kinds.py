"""Kinds of article in the encyclopedia of the built-in samples, each a grammar in the tokens of WikiText.

`facts` are bound once for an article; `lead` is its first paragraph; every other section is a section of the article,
`A / B` a subsection B of A.
"""

from __future__ import annotations

__all__ = ["KINDS"]

KINDS = {
    "town": """
== facts
title = {town}
region = {region}
river = {river}
founded = {year 1090-1390}
people = {2400-94000}
factory = {factory}
== lead
{title} is a town in {region} , on the {side} bank of the {river} . It had {people} inhabitants in {year 1990-2010} .
{title} is a market town on the {river} in {region} , with a population of {people} .
The town was first mentioned in {founded} , when a {building} was built there by {lord} .
It is known for its {building} , its {food} fair and a {adjective} {building} from the {century} century .
{title} has been twinned with {town} since {year 1955-1990} .
== Geography
The town lies {40-640} metres above sea level , {3-48} km {way} of {town} .
The {river} , which is {12-60} m wide here , separates the old town from the {side} suburbs .
Its municipal area covers {11.0-98.0} km2 , of which {8-60} percent is {land} .
To the {way} the ground rises to the {hill} , at {210-980} m the highest point of the district .
Winters are {harsh} , and the mean temperature in January is {0.5-4.5} C .
An average of {480-1900/10} mm of rain falls in a year , most of it in {month} .
== History
{lord} gave the settlement the right to hold a {food} market in {founded} .
In {year 1400-1590} a fire destroyed more than {40-400/10} houses and the {building} .
The town walls , {2.0-9.0} m high , were taken down between {year 1780-1809} and {year 1810-1840} .
During the {war} the {building} was used as a hospital .
A treaty between {region} and {country} was signed in the {building} in {year 1600-1790} .
The plague of {year 1600-1690} killed a third of the inhabitants , among them the mayor {person} .
== History / Industry
The railway from {town} reached the town in {year 1845-1890} , and a {factory} followed {few 2-9} years later .
The largest employer was a {factory} founded by {person} , which had {140-2800/10} workers in {year 1900-1938} .
The {factory} closed in {year 1970-1995} and is now a museum .
Since {year 1980-1999} the town has lived mainly from tourism and {food} .
== Culture
The {building} , a {few 2-4} @-@ storey house of {stone} , was designed by {person} in {year 1700-1890} .
Every {month} a festival of {music} brings about {1000-30000/500} visitors to the town .
The town museum shows {stone} carvings and the letters of the poet {person} .
The local dialect has {few 2-6} words for {food} and none for {weather} .
The football club , {title} {club} , played in the second division until {year 1970-2010} .
""",
    "river": """
== facts
title = {river.long}
length = {31-640}
spring = {hill}
mouth = {sea}
basin = {240-46000}
== lead
The {title} is a river in {region} . It rises on the {spring} and flows into the {mouth} after {length} km .
With a length of {length} km , the {title} is the {ordinal} @-@ longest river of {region} ; it drains {basin} km2 .
Its largest tributaries are the {river} and the {river} .
Its name is probably derived from an old word for " {weather} " .
== Course
The river rises at a height of {620-2300/10} m on the {side} slope of the {spring} .
For the first {4-28} km it runs through a narrow gorge , where it falls by {0.5-9.5} m per km .
At {town} it is joined by the {river} , and its valley becomes {1.5-9.5} km wide .
Below {town} the river divides into {few 2-5} arms and forms a {adjective} lake .
Near its mouth in the {mouth} it is {90-900/10} m wide and carries {12-380} m3 of water a second .
Ice covers the upper course from December until early spring .
== Ecology
The most common fish are {fish} and {fish} , while the {fish} became extinct in {year 1930-1979} .
Otters returned in {year 1985-2008} , and {120-900} pairs of {many bird} nest on the islands .
The banks are lined with {tree} , {tree} and , in the lower course , with {tree} .
Since {year 1975-1999} about {800-9500/100} hectares have been a nature reserve .
== History
Boats carried {stone} and {food} as far as {town} until the {century} century .
A flood in {year 1700-1890} destroyed {few 3-9} bridges and the {building} of {town} .
The first bridge was built at {town} by {lord} in {year 1200-1490} .
The engineer {person} straightened the lower {12-60} km between {year 1840-1860} and {year 1861-1890} .
== Use
There are {few 2-9} power stations on the river ; the largest , at {town} , produces {12-340} MW .
Water from the river supplies {town} , {town} and {20-600} @,@ 000 people in {region} .
Canoeists use the {10-70} km between {town} and {town} , which has {few 3-9} rapids .
""",
    "bird": """
== facts
title = {colour} {birdkind}
genus = {genus}
colour2 = {colour2}
species = {species}
long = {9-48}
country = {country}
== lead
The {title} ( {genus} {species} ) is a bird found in {country} and on the islands of the {sea} .
The {title} is a small bird of the genus {genus} , first described by {person} in {year 1758-1890} .
It is {long} cm long and has a {colour2} throat and a {sound} call .
It lives in {land} and feeds on {prey} and the seeds of the {tree} .
== Taxonomy
The species was described as {genus} {species} from a skin that {person} had collected near {town} .
{few 2-5} subspecies are recognised , which differ in the colour of the wing .
A study of {year 1995-2012} found that its closest relative is the {colour} {birdkind} .
The name of the genus honours the naturalist {person} .
== Description
Adults are {long} cm long , have a wingspan of {14-90} cm and weigh {8.0-95.0} g .
The male has a {colour} crown , a {colour2} throat and a {colour} tail ; the female is plainer .
Young birds are greyish @-@ brown above and lack the {colour2} throat until their {ordinal} year of life .
Its call is a {sound} whistle , repeated {few 3-9} times and often heard before {weather} .
== Behaviour
The {title} builds its nest in a {tree} , {1.0-9.0} m above the ground .
The female lays {few 2-8} {colour} eggs , which hatch after {11-28} days .
Both parents feed the young with {prey} , and they leave the nest after {12-39} days .
In {month} the birds gather in flocks of up to {40-900/10} and move to the {way} .
It takes {prey} from the bark of the {tree} with its long bill .
== Status
The population in {country} was estimated at {300-88000} pairs in {year 1994-2011} .
It is threatened by the felling of {tree} and by heavy {weather} .
The number of birds near {town} fell by {11-60} percent in {few 5-12} years .
It is shown on a postage stamp of {country} and in the arms of {town} .
""",
    "ship": """
== facts
title = SS {shipname}
yard = {shipyard}
launched = {year 1871-1932}
tons = {840-23000}
country = {country}
far = {country2}
== lead
{title} was a steamship built by {yard} and launched in {launched} .
{title} was a passenger ship of {country} , built by {yard} in {town} and launched in {launched} .
She carried {food} and passengers between {town} and {town} until she was lost in the {sea} .
Of {tons} tons , she was the largest ship of her owners , the {shipname} Line .
== Design
The ship was {61.0-240.0} m long and {8.0-29.0} m wide , and measured {tons} gross register tons .
She had {few 2-4} funnels , {few 2-6} decks and cabins for {60-900/10} passengers in {few 2-3} classes .
Her {few 3-4} @-@ cylinder engine gave {700-18000/100} horsepower and a speed of {9.5-22.5} knots .
The dining room was panelled with {tree} and had an ornate ceiling painted by {person} .
== Service
She left {town} on her maiden voyage in {month} {year 1901-1935} under Captain {person} .
On the route to {far} she made {few 6-12} voyages a year , usually with {food} in her hold .
In {month} she collided with the ferry {shipname} , but nobody was hurt .
During the {war} she was painted {colour} and carried troops for {country} .
Captain {person} , who commanded her for {few 5-12} years , kept {few 2-7} parrots on the bridge .
== Loss
In {weather} and high seas she ran onto a rock {2-38} km {way} of {town} .
All {14-290} people on board were saved by the lifeboats of {town} and {town} .
An inquiry led by {person} found that the chart had been {few 9-12} years old .
The wreck lies at a depth of {18-140} m and was found by divers in {year 1975-2009} .
== Legacy
Her bell hangs in the {building} of {town} .
A model of {stone} and {tree} is shown in the museum of {town} .
The song " The {capital} Captain " tells of her last voyage .
""",
    "album": """
== facts
title = {albumname}
band = {band}
year = {year 1966-2012}
label = {label}
songs = {8-16}
== lead
{title} is the {ordinal} album by the {music} group {band} , released in {month} {year} by {label} .
{title} is an album by the {music} group {band} . It was released by {label} in {year} and has {songs} songs .
It was produced by {person} and recorded in a {building} near {town} .
The album reached number {few 2-12} in {country} and sold {11000-900000/500} copies .
== Background
After a tour of {country} with {20-90} concerts the group had parted with its drummer , {person} .
The singer {person} wrote most of the songs in a {building} in {town} .
" We had {few 2-9} chords and too much {weather} , " the singer said later .
{label} had asked for a {mood} record and offered {few 3-12} weeks in the studio .
== Recording
The songs were recorded in {few 2-9} days in {month} on {few 4-12} tracks .
The sound of {weather} on the opening song was taped on the {side} coast of {country} .
{person} played the {instrument} , and a choir from {town} can be heard on {few 2-4} songs .
The guitarist used a {instrument} made of {tree} that had been found in a {building} .
== Music
Critics have called the style a mixture of {music} and {music} .
The longest song , " {albumname} " , lasts {few 7-12} minutes and ends with a solo on the {instrument} .
Its words speak of {weather} , {food} and the {sea} .
The last song is sung in a dialect of {region} .
== Reception
The critic {person} called it " a {mood} record with a {mood} heart " .
It stayed on the chart of {country} for {11-60} weeks and was the best @-@ selling {music} album of {year} .
The single " {albumname} " reached number {few 2-12} in {country} .
A new edition with {few 2-8} unreleased songs followed in {year 2013-2016} .
== Track listing
All words are by {person} and all music by {band} , unless marked otherwise .
" {albumname} " and " {albumname} " were left out of the first edition .
""",
    "battle": """
== facts
title = Battle of {town}
year = {year 1410-1760}
one = {country}
two = {region}
winner = {lord}
river = {river}
== lead
The {title} was fought in {month} {year} between {one} and {two} .
The {title} took place on a {land} {way} of the town in {month} {year} , during the war between {one} and {two} .
The army of {one} under {winner} defeated a larger force .
It ended the {war} and is remembered every {month} with a procession .
== Background
{two} had refused to pay the {food} tax for {few 5-12} years .
In {month} {winner} crossed the {river} with {1200-28000/100} men and took the {building} of {town} .
A truce agreed at {town} was broken after {11-70} days .
Letters found in the {building} show that {person} had warned against the {weather} .
== Battle
{winner} placed {200-6000/50} horsemen behind the {hill} and the {many archer} in front of a {land} .
The attack began at {few 4-9} in the morning , in heavy {weather} .
After {few 2-8} hours the {side} wing gave way , and the {many archer} were driven into the {river} .
The guns , {12-80} in number , could not be moved because of the {weather} .
{person} carried the {colour} flag across the {land} and was wounded {few 2-7} times .
== Battle / Losses
{one} lost {90-900/10} men , while {1000-9500/100} of the enemy were killed or taken prisoner .
Among the dead was {person} , whose {stone} tomb is in the {building} of {town} .
== Aftermath
A peace was signed in {town} {few 2-11} months later .
{two} had to give up the {building} and {few 3-12} villages {way} of the {river} .
A {stone} cross with {few 4-12} names was put up on the {land} in {year 1800-1890} .
The {mood} victory is the subject of an opera by {person} .
""",
}
