"""Common first names in several languages, as words in lower case without accents. A table."""

from satchel.privacy.tables import table

FIRST_NAMES = table(
    """
    aaron adam adele adrian adriana agnes agnieszka ahmed aisha akira alan albert alberto alejandra
    alejandro aleksander aleksandra alessandra alessandro alex alexander alexandra alexandre alexis
    alfred ali alice alicia alina alison amanda amelia amina amit amy ana anastasia anders andre andrea
    andreas andrei andres andrew andrzej angela angelika anika anil anita anja ann anna annabel anne
    annette annika anthony antoine anton antonia antonio april arjun arthur ashley astrid aurelie ayse
    barbara bartosz beatrice beatriz ben benjamin bernadette bernard bernd bernhard bettina beverly
    birgit bjorn bogdan boris brandon brenda brian bridget brigitte bruce bruno bryan camila camille
    carl carla carlos carmen carol carolina caroline carolyn catherine cecilia chantal charles charlotte
    chen chiara chloe christian christiane christina christine christophe christopher cindy claire clara
    claude claudia claudio clemens colette connor cornelia craig cristina cynthia dagmar damian daniel
    daniela danielle daria dariusz david deborah denis denise dennis diana diane diego dieter dimitri
    dirk dmitri dolores dominik dominique donald donna dorothea dorothy douglas edith eduardo edward
    eileen elena eleonora elias elif elisa elisabeth eliza elizabeth elke ellen emil emilia emilie emily
    emma emmanuel eric erica erik erika ernst esther etienne eugene eva evelyn ewa fabian fatima fatma
    federica federico felicia felix fernanda fernando fiona florence florian frances francesca francesco
    francisco franck francois francoise frank franz fred frederic frederik friedrich gabriel gabriela
    gabriele garcia gareth gary geoffrey georg george georges gerald gerard gerhard gertrud gianluca
    gilles giorgio giovanni giulia giuseppe gloria gordon graham greg gregory greta grzegorz guillaume
    gunter gustavo hannah hannes hans harald harold harry hassan heather heidi heike heinrich heinz
    helen helena helene helga henri henrik henry herbert hiroshi holger howard hugo hussein ian ibrahim
    igor ines ingrid irene irina irma isabel isabella isabelle ivan ivana jack jacob jacqueline jacques
    jakob jakub james jamie jan jana jane janet janina jasmin jasmine jason javier jean jeanne jeff
    jeffrey jennifer jens jeremy jerome jerry jessica jesus joan joana joanna joanne joao jochen joe
    joel johan johann johanna johannes john jonas jonathan jorge jorgen jose josef joseph josephine
    joshua joyce juan juana judith julia julian juliana julie julien juliette julio jurgen justin
    justyna kai karen karin karl karla karolina katarina katarzyna kate katharina katherine kathleen
    kathrin kathryn katja katrin kayla keith kelly kenji kenneth kerstin kevin khalid kim kirsten klaus
    konrad kristin kristina krzysztof kumar kurt lars latoya laura lauren laurence laurent lea leah
    leila lena leo leon leonard leonardo leonie leticia lidia linda lindsay lisa lorena lorenzo louis
    louise luca lucas lucia luciana lucie luigi luis luisa lukas luke lydia lynn magdalena maja
    malgorzata manfred manuel manuela marc marcel marcella marcello marcia marcin marco marcus margaret
    margarita margot maria mariam mariana marie marina mario marion marisa marit marius marjorie mark
    marko markus marlene marta martha martin martina martine mary maryam mateusz mathias mathieu matilda
    matteo matthew matthias maureen maurice mauricio mauro max maximilian megan mehmet mei melanie
    melissa mercedes mia michael michaela michal michel michele michelle miguel mika mike mikhail milan
    milena miriam mohamed mohammad mohammed moira monica monika monique muhammad mustafa nadia nadine
    nancy naomi natalia natalie natasha nathalie nathan neil nicholas nick nicola nicolas nicole nikolai
    nils nina noah noemi nora norbert norma oleg olga oliver olivia olivier omar oscar oskar otto owen
    pablo pamela paola paolo pascal patricia patrick patrik paul paula paulina pauline paulo pavel pawel
    pedro peggy penelope peter petra philip philipp philippe phillip pierre pietro piotr priya rachel
    rafael rafal rahul rainer raj rajesh ralf ralph ramon raphael raquel raul ravi raymond rebecca
    regina reinhard renata renate rene ricardo richard rita robert roberta roberto robin rodrigo roger
    roland rolf roman ronald rosa rosemary roxane ruben rudolf russell ruth ryan sabine sabrina sally
    salvatore sam samantha samir samuel sandra sanjay sara sarah satoshi scott sean sebastian serge
    sergei sergio sharon sheila shirley silke silvia simon simona simone sofia sofie solveig sonia sonja
    sophia sophie stanislaw stefan stefania stefanie stefano stella stephan stephane stephanie stephen
    steve steven stuart sunita susan susana susanne suzanne svein sven svetlana sylvia sylvie tadeusz
    takashi tamara tania tanja tatiana teresa terry thea theodor theresa therese thierry thomas tiffany
    tim timothy tina tobias todd tom tomas tomasz tony torsten tracy uta ulrich ulrike umberto ursula
    ute uwe valentina valeria valerie vanessa vera veronica veronika victor victoria viktor vincent
    vincenzo viola virginia vittorio vivian vladimir volker walter wanda wei wendy werner wilhelm
    william winston wojciech wolfgang xavier yan yasmin ying yolanda yuki yuri yusuf yves yvonne zachary
    zoe zofia zuzana wiebke maike aylin emre deniz priyanka deepak anjali vikram lakshmi suresh ananya
    haruto kenta sakura aiko naoko minjun jihoon seoyeon xiaoming jing fang bjarne ingeborg sigrid
    ragnar freya gunnar leif eero aino matti pekka antti kaisa riikka tuomas zsofia laszlo istvan gabor
    balazs katalin
    """
)
