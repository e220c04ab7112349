// The branch of the memories that share the most words; the branch of the vectors follows.
//
// $vectors     list<map>  {place, vector}: the question's vectors, none or several
// $by_vectors  boolean    whether they are searched for, or only compared with what the words find
// include words_leg
RETURN memory, null AS place, null AS vector, score AS bm25

UNION ALL

UNWIND CASE WHEN $by_vectors THEN $vectors ELSE [] END AS one
