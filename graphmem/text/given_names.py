"""Given names of people, and words that may follow one without being a family name.

Without names that are as often those of a place, a month, a thing or a program: Paris, Florence,
Austin, Jordan, April, Rose, Mark, Will, Ruby, Julia, Travis, Claude.
"""

GIVEN_NAMES = frozenset(
    """
    aaron abdul abigail abraham adam adele adrian agnes ahmed aisha akira alan albert alejandro
    alessandro alessia alex alexander alexandra alexei alfred ali alice alicia alina alison amanda
    amelia amelie amina amit amy ana anastasia anders andrea andreas andrei andrew angela anil anita
    anja ann anna annabel anne annette annika anthony antoine anton antonio anya arjun arne arnold
    arthur astrid audrey barbara bartosz beatrice beatriz ben benjamin bernard bernd beth bianca
    birgit bjorn bob boris brenda brian bridget bruno camille carla carlos carmen caroline catherine
    cecilia celine charles charlie chiara chloe christina christine christoph christopher cindy
    clara clemens colin connor cornelia cristina cynthia dan daniel daniela david debbie deborah
    deepak denise dennis derek diana dieter dimitri dmitri dominik donald dora doris dorothy doug
    eberhard ed edith eduardo edward edwin eileen ekaterina elaine eleanor elena elias elisa
    elizabeth ella ellen elsa emil emilia emily emma enrique eric erik erika ernst esther ethan
    eugene eva evelyn fabian fabio fatima felix ferdinand fernando fiona florian francesca francois
    franz fred frederik friedrich fritz gabriel gabriela gary geoffrey george gerald gerhard
    giovanni giulia giuseppe gloria greg gregory greta guido guillaume gunther gustav hana hannah
    hans harald harry haruki hassan hector heidi heike heinrich heinz helen helena helga helmut
    henri henrik henry herbert hermann hiroshi holger hugo ian ibrahim igor ines inga ingrid irene
    irina isaac isabel isabella ivan ivana jacob jacqueline jaime jakob jakub james jana jane janet
    javier jean jeff jeffrey jennifer jens jeremy jessica jim joachim joan joanna joao joel johan
    johanna johannes john jonas jonathan jorge jose josef joseph josh joshua joyce juan judith
    juergen julian juliane julie jurgen justin kai karen karin karl karla karolina katarina kate
    katharina katherine kathleen katrin katya keith kenji kenneth kerstin kevin klaus konrad kristin
    kurt lara lars laura lauren lea leah lena leo leonardo leonie liam linda lisa liz lorenzo lotte
    louise lucia lucy ludwig luis luisa lukas lydia magdalena manuel manuela mara marc marcel marco
    marcos marcus margaret margarita maria marian mariana marie marion markus marta martha martina
    mary masha mateo mathias matt matteo matthew matthias maurice max mei mel melanie mia michael michel
    michele miguel mikael mike mikhail milan mirjam mohamed mohammed monica monika moritz nadia
    nadine nancy naomi natalia natalie natasha nathan neil nicholas nick nicola nicolas nicole
    nikita nikolai nils nina noah nora norbert olaf oleg olga oliver olivia omar oskar otto
    pablo pamela paolo patricia patrick paul paula paulo pavel pedro peter petra philip philipp pia
    piotr priya rachel rafael rahul rainer raj rajesh ralf ralph raymond rebecca reiner
    renate ricardo richard robert roberto roger roland rolf ronald rosa rosie rudolf rudy rupert
    ruth sabine sam samantha samir samuel sandra sanjay sara sarah sasha sean sebastian sergei
    sergio sharon silke silvia silvio simone sonia sophia sophie stefan stefanie steffi stella
    stephanie stephen steve steven stuart sunil susan susanne sven svetlana takeshi tamara tanja
    tanya tatiana ted teresa theo theresa thorsten tilo tim timo timothy tina tobias tom tomas tony
    torsten udo ulrich ulrike ursula uwe valentina valeria vanessa vera vicente vijay vikram viktor
    vincent vladimir walter wendy werner wilhelm william wolfgang xavier yasmin yuki yuri yusuf yves
    yvonne zoe
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

NO_FAMILY_NAMES = frozenset(
    """
    academy agency airport archive archives association avenue award awards bank bay beach board
    book bridge building cafe camp case castle cathedral center centre challenge channel chapel
    church city clinic club code collection college committee company conference corp corporation
    council county cup dam day department diaries diary district drive effect estate festival
    festivals foundation fund gallery garden gardens gmbh group guide hall harbour hill hills
    hospital hotel house inc industries institute island islands jr junior kart lab laboratories
    laboratory labs lake lane library limited lodge ltd magazine mall mansion medal memorial method
    ministry mission model monument mountain mountains movie museum office palace park party pier
    place plan platform plaza port prize problem products program project protocol records report
    reservoir resort restaurant river road room school series service services shop show society
    software spring springs square sr stadium station store story street studio studios suite system
    systems team technologies test theater theatre theorem tower trail trophy trust tunnel union
    university valley village vineyard ward works zone
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Words that follow a given name in the name of a place, a firm or a thing, as in Anna University."""
