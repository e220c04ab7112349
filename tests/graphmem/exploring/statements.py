"""Statements that only read, which are answered, and statements that may do more, which are refused."""

from typing import Any

VECTOR = [1.0, *[0.0] * 383]

ANSWERED: list[tuple[str, dict[str, Any]]] = [
    ("RETURN 1", {}),
    ("RETURN 1;", {}),
    ("RETURN 1 ; // the end", {}),
    ("\n\n  RETURN 1\n", {}),
    ("CYPHER 25 RETURN 1", {}),
    ("cypher 5 MATCH (n:Memory) RETURN count(n)", {}),
    ("CYPHER /* the newest */ 25 MATCH (n:Memory) RETURN n LIMIT 1;", {}),
    # Words that would write, in places where they do not.
    ("RETURN 'CREATE (n) DELETE n; LOAD CSV FROM \"x\" AS l; USE system' AS x", {}),
    ('RETURN "it\'s a MERGE; CALL dbms.listConfig()" AS x', {}),
    ("RETURN 'a\\'; DROP CONSTRAINT x; \\\\' AS x", {}),
    ("RETURN 1 AS x // ; CREATE (n)", {}),
    ("RETURN /* CALL { CREATE (n) } IN TRANSACTIONS; */ 1 AS x", {}),
    ("RETURN 1 AS `a``b; CREATE (n:Intruder)`", {}),
    ("MATCH (create:Memory) RETURN create.id AS delete LIMIT 1", {}),
    ("WITH 1 AS use, 2 AS show, 3 AS load, 4 AS call RETURN use, show, load, call", {}),
    ("WITH 1 AS use RETURN DISTINCT use AS x, CASE WHEN use > 0 THEN use ELSE use END AS y", {}),
    (
        "UNWIND [1] AS use RETURN all(use IN [use] WHERE use = 1) AS x, [use IN [1] | {use: use}] AS y",
        {},
    ),
    ("WITH 1 AS show, 2 AS terminate RETURN show UNION ALL RETURN 2 AS show", {}),
    ("MATCH (load:Memory) WHERE load.csv IS NULL RETURN load.csv AS csv LIMIT 1", {}),
    ("WITH point({x: 1, y: 2}) AS p RETURN point.distance(p, p) AS d, p.x AS x", {}),
    ("WITH {use: 1, call: 2} AS profile RETURN profile.use AS explain, profile.call AS merge", {}),
    ("MATCH (n:Memory) RETURN n.create, n.`set`, n.REMOVE LIMIT 1", {}),
    ("MATCH (set:`Set`) RETURN set.x AS merge", {}),
    ("WITH [1] AS transactions RETURN 1 IN transactions AS x", {}),
    ("RETURN '\\u0043REATE (n)' AS x", {}),
    ("RETURN 'ＣＲＥＡＴＥ' AS ＣＲＥＡＴＥ", {}),
    # Shapes of reading.
    ("MATCH (n:Memory {client_id: $c}) WHERE n.kind = 'fact' RETURN n.text ORDER BY n.text", {}),
    ("OPTIONAL MATCH (n:Nothing) RETURN n", {}),
    (
        "MATCH (n:Memory) RETURN n.kind AS kind, count(*) AS n UNION ALL RETURN 'x' AS kind, 0 AS n",
        {},
    ),
    ("MATCH (n:Memory) CALL (n) { MATCH (n)-->(m) RETURN count(m) AS out } RETURN out LIMIT 1", {}),
    ("CALL { RETURN 1 AS x UNION RETURN 2 AS x } RETURN x", {}),
    ("MATCH (n:Memory) WHERE EXISTS { (n)-[:MENTIONS]->() } RETURN count(n)", {}),
    ("MATCH (n:Fact {client_id: $c}) RETURN COUNT { (n)--() } AS degree", {}),
    (
        "MATCH (n:Fact {client_id: $c}) RETURN COLLECT { MATCH (n)--(m) RETURN m.kind } AS around",
        {},
    ),
    ("MATCH (n:Fact {client_id: $c}) RETURN [x IN [1] WHERE EXISTS { (n)--() } | x] AS x", {}),
    ("MATCH (n:Fact {client_id: $c}) RETURN [(n)-[r]->(m) | type(r)] AS types", {}),
    ("MATCH p = (a:Fact {client_id: $c})-[:SUPERSEDES]->{1,3}(b) RETURN p", {}),
    ("MATCH p = (a:Fact {client_id: $c})((x)-[r]-(y)){1,2}(b) RETURN p LIMIT 5", {}),
    ("MATCH p = SHORTEST 1 (a:Fact {client_id: $c})-[]-+(b:Fact {client_id: $c}) RETURN p", {}),
    (
        "MATCH p = shortestPath((a:Fact {id: $a})-[*..4]-(b:Fact {id: $b})) RETURN length(p) AS l",
        {},
    ),
    ("MATCH (a:Fact {client_id: $c})-[r:SUPERSEDES*1..3]->(b) RETURN r", {}),
    ("UNWIND [3, 1, 2] AS x WITH x ORDER BY x SKIP 1 LIMIT 1 RETURN x", {}),
    ("FOR x IN [1, 2] FILTER x > 1 LET y = x * 2 RETURN y", {}),
    ("WHEN 1 > 2 THEN RETURN 'a' AS x ELSE RETURN 'b' AS x", {}),
    ("RETURN 1 AS x NEXT RETURN x + 1 AS y", {}),
    ("MATCH (n:Fact) RETURN CASE WHEN n.text IS NULL THEN 'none' ELSE n.kind END AS x LIMIT 1", {}),
    ("MATCH (n:Fact {client_id: $c}) RETURN n {.id, .text, all: n {.*}} AS fact", {}),
    ("MATCH (n:$($label)) RETURN count(n) AS n", {"label": "Fact"}),
    ("RETURN reduce(s = 0, x IN range(1, 10) | s + x) AS s, all(x IN [1] WHERE x > 0) AS a", {}),
    (
        "RETURN date.truncate('month', date('2026-11-22')) AS d, duration.between(date(), date()) AS e",
        {},
    ),
    ("RETURN vector.similarity.cosine([1.0, 2.0], [1.0, 2.0]) AS s", {}),
    ("FINISH", {}),
    # Expressions whose columns Neo4j can still name.
    ("RETURN 1" + " + 1" * 100, {}),
    ("MATCH (n:Fact) RETURN n" + ".a" * 100, {}),
    ("RETURN EXISTS { (n) WHERE n.a = 1" + " AND n.a = 1" * 97 + " }", {}),
    ("RETURN " + "abs(" * 30 + "1" + " + 1" * 40 + " + 1)" * 30, {}),
    # Loops, patterns and depths that end.
    ("RETURN [a IN range(1, 1000) | size([b IN range(1, 1000) | b])][0] AS x", {}),
    ("RETURN [a IN range(0, size($l) - 1) | $l[a]] AS x", {"l": [3, 4]}),
    ("WITH range(1, 500) AS r RETURN reduce(s = 0, a IN r | s + size([b IN r | b])) AS x", {}),
    ("UNWIND range(1, 2000000) AS x RETURN count(x) AS x", {}),
    ("FOR x IN range(1, $most) RETURN max(x) AS x", {"most": 2_000_000}),
    ("RETURN range(1, $most) AS x", {"most": 100}),
    (
        "MATCH (n:Fact {client_id: $c}) RETURN [x IN n.text WHERE x IN $l] AS x",
        {"l": ["a"] * 2_000},
    ),
    ("MATCH (n:Fact {client_id: $c}) WHERE n.text =~ '(?i).*post(gres|master).*' RETURN n.id", {}),
    (
        "MATCH (n:Fact {client_id: $c}) WHERE n.text =~ $p RETURN [x IN [n] WHERE x.id =~ 'a' | x]",
        {"p": ".*"},
    ),
    (
        "CALL db.index.fulltext.queryNodes('memory_text', 'a\\\\/b \"c/d\"') YIELD node RETURN node.id",
        {},
    ),
    (
        "WITH 'post' AS begin MATCH (m:Memory) SEARCH m IN (FULLTEXT INDEX memory_text FOR "
        "begin + '*' LIMIT 3) SCORE AS s RETURN m.text, s",
        {},
    ),
    ("RETURN " + "(" * 40 + "1" + ")" * 40 + " AS x", {}),
    (
        "MATCH (n:Fact {client_id: $c}) WHERE "
        + "EXISTS { (n)--(m) WHERE " * 6
        + "true"
        + " }" * 6
        + " RETURN n.id",
        {},
    ),
    # Both kinds of index, in both forms.
    (
        "MATCH (m:Memory) SEARCH m IN (VECTOR INDEX memory_embedding FOR $v "
        "WHERE m.client_id = $c LIMIT 3) SCORE AS s RETURN m.text, s",
        {"v": VECTOR},
    ),
    (
        "MATCH (m:Memory) SEARCH m IN (FULLTEXT INDEX memory_text FOR 'postgres' LIMIT 3) SCORE AS s "
        "RETURN m.text, s",
        {},
    ),
    (
        "CALL db.index.fulltext.queryNodes('memory_text', $q) YIELD node RETURN node.id",
        {"q": "pears"},
    ),
    (
        "CALL db.index.vector.queryNodes('memory_embedding', 3, $v) YIELD score RETURN score",
        {"v": VECTOR},
    ),
    # Descriptions of the graph itself.
    ("CALL db.labels() YIELD label RETURN label", {}),
    ("CALL `db`.`labels`()", {}),
    ("CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t", {}),
    ("CALL db.propertyKeys", {}),
    ("CALL db.schema.visualization()", {}),
    ("OPTIONAL CALL db.labels() YIELD label RETURN label", {}),
    ("SHOW INDEXES", {}),
    ("SHOW VECTOR INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name", {}),
    ("SHOW ALL CONSTRAINTS YIELD name RETURN count(name) AS n", {}),
    ("SHOW BUILT IN FUNCTIONS YIELD name RETURN name LIMIT 3", {}),
    # Parameters of every type, under any name.
    (
        "RETURN $n AS n, $b AS b, $i AS i, $f AS f, $s AS s, $l AS l, $m AS m, $`odd name` AS o",
        {
            "n": None,
            "b": True,
            "i": -(2**63),
            "f": 0.5,
            "s": "ä; CREATE (n)",
            "l": [1, "x", None, [2.5], {"y": []}],
            "m": {"a": {"b": [1, 2]}},
            "odd name": 1,
        },
    ),
]

REFUSED: list[tuple[str, str]] = [
    # Writes, plain and disguised.
    ("cypher_write", "CREATE (n:Intruder) RETURN n"),
    ("cypher_write", "create (n:Intruder)"),
    ("cypher_write", "MERGE (n:Intruder {id: 1}) ON CREATE SET n.x = 1 RETURN n"),
    ("cypher_write", "INSERT (n:Intruder) RETURN n"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) SET n.intruded = 1"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) SET n:Intruder RETURN 1"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) SET n += {intruded: 1}"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) SET n[$property] = 1"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) REMOVE n.text RETURN 'RETURN'"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) DETACH DELETE n"),
    ("cypher_write", "MATCH (:Fact {client_id: $c})-[r]-() DELETE r FINISH"),
    ("cypher_write", "MATCH (n:Fact {client_id: $c}) FOREACH (x IN [1] | SET n.intruded = x)"),
    ("cypher_write", "UNWIND [1] AS x CALL (x) { CREATE (n:Intruder) } RETURN x"),
    ("cypher_write", "CALL () { CREATE (n:Intruder) RETURN n } RETURN n"),
    ("cypher_write", "RETURN 1 AS x UNION CREATE (n:Intruder) RETURN 1 AS x"),
    ("cypher_write", "WHEN true THEN { CREATE (n:Intruder) RETURN 1 AS x } ELSE RETURN 2 AS x"),
    (
        "cypher_write",
        "CALL () { WHEN 1 > 0 THEN CREATE (n:Intruder) ELSE MERGE (n:Intruder) } FINISH",
    ),
    ("cypher_write", "LET x = 1 CREATE (n:Intruder {x: x}) RETURN x"),
    ("cypher_write", "RETURN 1 AS x NEXT CREATE (n:Intruder) RETURN x"),
    ("cypher_write", "/* MATCH (n) RETURN n */CREATE/**/(n:Intruder)/* RETURN 1 */"),
    ("cypher_write", "MATCH (n) WHERE false // \nMERGE (m:Intruder) RETURN 1"),
    ("cypher_write", "RETURN 1 AS x /* \n */ UNION /* // */ MERGE (:Intruder) RETURN 1 AS x"),
    ("cypher_write", "\\u0043REATE (n:Intruder)"),
    ("cypher_write", "MATCH (n) WHERE false \\u004D\\u0045RGE (m:Intruder) RETURN 1"),
    ("cypher_write", "RETURN 'x\\u0027 AS x UNION CREATE (n:Intruder) RETURN \\u0027y' AS x"),
    ("cypher_write", "MATCH (n)\u00a0WHERE n.x = 1\u2003CREATE (m:Intruder)"),
    ("cypher_write", "MATCH (n) WHERE false CREATE (m:Intruder)"),
    ("cypher_write", "CYPHER 5 CREATE (n:Intruder)"),
    ("cypher_write", "CYPHER 25 /* */ CREATE (n:Intruder);"),
    ("cypher_procedure", "CALL db.create.setNodeVectorProperty(null, 'intruded', [1.0])"),
    (
        "cypher_procedure",
        "MATCH (n:Fact {client_id: $c}) CALL `db`.`create`.`setNodeVectorProperty`(n, 'intruded', [1.0]) "
        "RETURN n",
    ),
    ("cypher_procedure", "CALL db.createLabel('Intruder')"),
    ("cypher_procedure", "CALL db.awaitIndexes(60)"),
    ("cypher_procedure", "CALL db.index.fulltext.listAvailableAnalyzers()"),
    ("cypher_procedure", "CALL db.prepareForReplanning()"),
    ("cypher_procedure", "CALL db.clearQueryCaches()"),
    (
        "cypher_procedure",
        "CALL apoc.cypher.doIt('CREATE (n:Intruder)', {}) YIELD value RETURN value",
    ),
    ("cypher_procedure", "CALL apoc.load.json('http://127.0.0.1:9/') YIELD value RETURN value"),
    (
        "cypher_procedure",
        "CALL genai.vector.encodeBatch(['x'], 'OpenAI', {}) YIELD vector RETURN 1",
    ),
    ("cypher_function", "RETURN genai.vector.encode('x', 'OpenAI', {token: 'x'}) AS v"),
    ("cypher_function", "RETURN apoc.cypher.runFirstColumnSingle('MATCH (n) RETURN n', {}) AS v"),
    # Several transactions, or several statements.
    ("cypher_in_transactions", "MATCH (n:Nothing) CALL (n) { SET n.x = 1 } IN TRANSACTIONS"),
    (
        "cypher_in_transactions",
        "CALL { RETURN 1 AS x } IN 2 CONCURRENT TRANSACTIONS OF 5 ROWS RETURN x",
    ),
    ("cypher_statements", "RETURN 1; CREATE (n:Intruder)"),
    ("cypher_statements", "RETURN 1;\n// x\n;RETURN 2"),
    ("cypher_statements", "RETURN 'a\\u0027 AS x; CREATE (n:Intruder) //'"),
    ("cypher_transaction", "BEGIN"),
    ("cypher_transaction", "commit"),
    ("cypher_transaction", "ROLLBACK;"),
    ("cypher_transaction", "START TRANSACTION"),
    # Prefixes and options.
    ("cypher_prefix", "EXPLAIN RETURN 1"),
    ("cypher_prefix", "PROFILE CREATE (n:Intruder)"),
    ("cypher_prefix", "CYPHER 25 PROFILE RETURN 1"),
    ("cypher_prefix", "/**/ \\u0050ROFILE CREATE (n:Intruder)"),
    ("cypher_prefix", "EXPLAIN CYPHER 25 RETURN 1"),
    ("cypher_options", "CYPHER runtime=slotted RETURN 1"),
    ("cypher_options", "CYPHER 25 debug = x RETURN 1"),
    # Another graph.
    ("cypher_use", "USE neo4j RETURN 1"),
    ("cypher_use", "USE system SHOW USERS"),
    ("cypher_use", "USE nosuchgraph RETURN 1"),
    ("cypher_use", "CALL () { USE neo4j RETURN 1 AS x } RETURN x"),
    ("cypher_use", "\\u0055SE `neo4j` RETURN 1"),
    ("cypher_use", "WHEN true THEN USE neo4j RETURN 1 AS x ELSE RETURN 2 AS x"),
    ("cypher_use", "RETURN 1 AS x UNION ALL USE neo4j RETURN 2 AS x"),
    ("cypher_use", "RETURN 1 AS x UNION USE neo4j RETURN 2 AS x"),
    # Files and the network.
    ("cypher_load_csv", "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line"),
    ("cypher_load_csv", "LOAD CSV WITH HEADERS FROM 'http://127.0.0.1:9/' AS line RETURN line"),
    ("cypher_load_csv", "LOAD CSV FROM $url AS line RETURN line"),
    (
        "cypher_load_csv",
        "WITH 'file' AS f LOAD/**/CSV FROM f + ':///etc/passwd' AS line RETURN line",
    ),
    ("cypher_load_csv", "lo\\u0061d csv FROM $url AS line RETURN line"),
    ("cypher_load_csv", "RETURN COUNT { LOAD CSV FROM $url AS l RETURN l } AS x"),
    ("cypher_load_csv", "RETURN [x IN [1] | COUNT { LOAD CSV FROM $url AS l RETURN l }] AS x"),
    (
        "cypher_load_csv",
        "RETURN reduce(a = [], x IN [1] | COLLECT { LOAD CSV FROM $url AS l RETURN l[0] }) AS x",
    ),
    (
        "cypher_load_csv",
        "RETURN CASE WHEN rand() > 2 THEN EXISTS { LOAD CSV FROM $url AS l RETURN l } END AS x",
    ),
    (
        "cypher_load_csv",
        "MATCH p = (a:Fact)-[*1..2]->(b) WHERE all(x IN nodes(p) WHERE EXISTS "
        "{ LOAD CSV FROM $url AS l RETURN l }) RETURN b",
    ),
    (
        "cypher_load_csv",
        "CALL db.index.fulltext.queryNodes('memory_text', head(COLLECT "
        "{ LOAD CSV FROM $url AS l RETURN l[0] })) YIELD node RETURN node",
    ),
    (
        "cypher_load_csv",
        "MATCH (a:$([x IN ['Fact'] | head(COLLECT { LOAD CSV FROM $url AS l RETURN l[0] })])) RETURN a",
    ),
    # The server's configuration and its users.
    ("cypher_procedure", "CALL dbms.listConfig() YIELD name, value RETURN name, value"),
    ("cypher_procedure", "CALL `dbms`.`listConfig`"),
    ("cypher_procedure", "CALL dbms.components()"),
    ("cypher_procedure", "CALL dbms.killConnection('bolt-1')"),
    ("cypher_procedure", "CALL tx.getMetaData()"),
    (
        "cypher_procedure",
        "RETURN [x IN [1] | COLLECT { CALL dbms.listConfig() YIELD name RETURN name }] AS x",
    ),
    (
        "cypher_procedure",
        "MATCH (n:Fact) WHERE EXISTS { CALL dbms.listConfig() YIELD name RETURN name } RETURN n",
    ),
    ("cypher_procedure", "RETURN 'x' AS name UNION CALL dbms.listConfig() YIELD name RETURN name"),
    ("cypher_show", "SHOW SETTINGS"),
    ("cypher_show", "SHOW SETTINGS YIELD name SHOW INDEXES YIELD name AS n RETURN n"),
    ("cypher_show", "CALL () { SHOW SETTINGS YIELD name RETURN name } RETURN name"),
    (
        "cypher_show",
        "RETURN reduce(a = [], x IN [1] | COLLECT { SHOW SETTINGS YIELD name RETURN name }) AS x",
    ),
    ("cypher_show", "SHOW/**/TRANSACTIONS"),
    ("cypher_show", "sh\\u006fw databases"),
    ("cypher_show", "SHOW DEFAULT DATABASE"),
    ("cypher_show", "SHOW USERS"),
    ("cypher_show", "SHOW CURRENT USER"),
    ("cypher_show", "SHOW PROCEDURES"),
    ("cypher_show", "SHOW PRIVILEGES"),
    ("cypher_administration", "TERMINATE TRANSACTION 'neo4j-transaction-1'"),
    ("cypher_administration", "CREATE USER intruder SET PASSWORD 'abcdefgh'"),
    ("cypher_administration", "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'"),
    ("cypher_administration", "DROP USER neo4j"),
    ("cypher_administration", "GRANT ROLE admin TO neo4j"),
    ("cypher_administration", "CREATE DATABASE intruder"),
    ("cypher_administration", "STOP DATABASE neo4j"),
    ("cypher_schema", "CREATE INDEX intruder FOR (n:Intruder) ON (n.x)"),
    ("cypher_schema", "CREATE VECTOR INDEX intruder IF NOT EXISTS FOR (n:Intruder) ON n.x"),
    ("cypher_schema", "CREATE CONSTRAINT intruder FOR (n:Intruder) REQUIRE n.x IS UNIQUE"),
    ("cypher_schema", "DROP INDEX memory_text"),
    ("cypher_schema", "DROP CONSTRAINT memory_id IF EXISTS"),
    # Work that the server could not interrupt.
    ("cypher_range", "RETURN reduce(s = 0, i IN range(1, 9000000000000000000) | s + i) AS x"),
    ("cypher_range", "RETURN reduce(s = '', i IN range(1, 100001) | s + 'a') AS x"),
    ("cypher_range", "RETURN [a IN range(1, 1000) | [b IN range(1, 1001) | b]] AS x"),
    (
        "cypher_range",
        "WITH range(1, 2000) AS r RETURN all(a IN r WHERE none(b IN r WHERE a < b)) AS x",
    ),
    ("cypher_range", "WITH 9000000000000000000 AS n RETURN [i IN range(1, n) | i] AS x"),
    ("cypher_range", "RETURN size([i IN `range`(1, 9 * 1000000000000) WHERE i < 0]) AS x"),
    ("cypher_range", "RETURN [i IN range(1, $far) | i] AS x"),
    ("cypher_range", "RETURN [i IN $many | [j IN $many | i + j]] AS x"),
    ("cypher_range", "UNWIND range(1, 100000000) + [1] AS x RETURN count(x) AS x"),
    ("cypher_range", "RETURN reduc\\u0065(s = 0, i IN r\\u0061nge(1, 100000000) | s + i) AS x"),
    ("cypher_regex", "RETURN 'aaaa!' =~ '((a|a)*)*b' AS x"),
    ("cypher_regex", "WITH '((a|a)*)*b' AS p RETURN 'aaaa!' =~ p AS x"),
    ("cypher_regex", "RETURN 'aaaa!' =~ '((a|a)' + '*)*b' AS x"),
    ("cypher_regex", "RETURN 'aaaa!' =~ $pattern AS x"),
    ("cypher_regex", "RETURN 'aaaa!' =~ '(x\\u002a)*b' AS x"),
    ("cypher_regex", "RETURN [x IN ['aaaa!'] WHERE x =~ 'a' || 'b' | x] AS x"),
    (
        "cypher_fulltext",
        "CALL db.index.fulltext.queryNodes('memory_text', '/((a{1,100}){1,100}){1,100}/') "
        "YIELD node RETURN 1",
    ),
    (
        "cypher_fulltext",
        "CALL db.index.fulltext.queryNodes('memory_text', $slashed) YIELD node RETURN 1",
    ),
    (
        "cypher_fulltext",
        "WITH '/(a{1,100}){1,100}/' AS q CALL `db`.`index`.`fulltext`.`queryNodes`('memory_text', q) "
        "YIELD node RETURN 1",
    ),
    (
        "cypher_fulltext",
        "MATCH (m:Memory) SEARCH m IN (FULLTEXT INDEX memory_text FOR '\"' + '/a{1,100}/' LIMIT 3) RETURN m",
    ),
    ("cypher_nesting", "RETURN " + "(" * 3_000),
    ("cypher_nesting", "RETURN " + "[" * 60 + "]" * 60 + " AS x"),
    ("cypher_nesting", "RETURN " + "NOT " * 300 + "true AS x"),
    ("cypher_nesting", "RETURN " + "CASE WHEN true THEN " * 60 + "1" + " END" * 60 + " AS x"),
    ("cypher_nesting", "RETURN 1" + " + 1" * 600 + " AS x"),
    ("cypher_nesting", "RETURN 1 AS x" + " UNION RETURN 1 AS x" * 101),
    ("cypher_nesting", "RETURN " + ", ".join(f"1 AS c{place}" for place in range(2_000))),
    (
        "cypher_nesting",
        "MATCH (n) WHERE "
        + "EXISTS { MATCH (n)--(m) WHERE " * 60
        + "true"
        + " }" * 60
        + " RETURN count(n)",
    ),
]
"""Each with the rule that refuses it."""
