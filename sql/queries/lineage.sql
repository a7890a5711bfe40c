-- question: From which tuples, through which activations, does a tuple come?
-- parameter: run = the run's number
-- parameter: tuple = number of the tuple (the query outputs lists the results)
-- column: steps = activations between this tuple and the one asked for
-- column: tuple = number of the tuple
-- column: relation = name
-- column: values = the fields
-- column: generated_by = the activation that made it; empty for an input of the run
-- limit: 10000
WITH RECURSIVE lineage (tuple_id, steps) AS (
    SELECT tuple_id, 0 FROM tuple WHERE run_id = :run AND tuple_id = :tuple
  UNION
    SELECT used.tuple_id, lineage.steps + 1
    FROM lineage
    JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = lineage.tuple_id
    JOIN used ON used.run_id = :run AND used.activation_id = tuple.generated_by
), nearest AS (
    SELECT tuple_id, min(steps) AS steps
    FROM (SELECT * FROM lineage LIMIT 10000) AS first
    GROUP BY tuple_id
)
SELECT nearest.steps,
       tuple.tuple_id AS tuple,
       relation.name AS relation,
       tuple.values,
       activation.name AS generated_by
FROM nearest
JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = nearest.tuple_id
JOIN relation USING (relation_id)
LEFT JOIN activation ON activation.run_id = tuple.run_id
                    AND activation.activation_id = tuple.generated_by
ORDER BY nearest.steps, tuple.tuple_id
