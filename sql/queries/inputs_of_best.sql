-- question: Which inputs of the run stand behind the best tuples of a relation?
-- parameter: run = the run's number
-- parameter: relation = name
-- parameter: field = a field of it with numbers
-- parameter: best = highest or lowest
-- parameter: top = how many tuples
-- column: rank = 1 = the best
-- column: value = of the field
-- column: tuple = number of the tuple that has it
-- column: input = number of an input tuple that it was made from
-- column: input_relation = that this input belongs to
-- column: input_values = its fields
-- limit: 10000
WITH RECURSIVE graded AS (
    SELECT tuple.tuple_id, (tuple.values ->> field.name)::float AS value
    FROM run
    JOIN relation USING (workflow_id)
    JOIN field USING (relation_id)
    JOIN tuple USING (run_id, relation_id)
    WHERE run.run_id = :run
      AND tuple.run_id = :run
      AND lower(relation.name) = lower(CAST(:relation AS text))
      AND lower(field.name) = lower(CAST(:field AS text))
      AND pg_input_is_valid(tuple.values ->> field.name, 'float')
), best AS (
    SELECT row_number() OVER (ORDER BY goodness DESC, tuple_id) AS rank, tuple_id, value
    FROM (
        SELECT tuple_id, value,
               CASE lower(CAST(:best AS text)) WHEN 'lowest' THEN -value ELSE value END AS goodness
        FROM graded
    ) AS judged
    ORDER BY goodness DESC, tuple_id
    LIMIT CAST(:top AS integer)
), lineage (rank, tuple_id) AS (
    SELECT rank, tuple_id FROM best
  UNION
    SELECT lineage.rank, used.tuple_id
    FROM lineage
    JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = lineage.tuple_id
    JOIN used ON used.run_id = :run AND used.activation_id = tuple.generated_by
)
SELECT best.rank,
       best.value,
       best.tuple_id AS tuple,
       tuple.tuple_id AS input,
       relation.name AS input_relation,
       tuple.values AS input_values
FROM (SELECT * FROM lineage LIMIT 100000) AS reached
JOIN best USING (rank)
JOIN tuple ON tuple.run_id = :run AND tuple.tuple_id = reached.tuple_id
JOIN relation USING (relation_id)
WHERE tuple.generated_by IS NULL
ORDER BY best.rank, tuple.tuple_id
LIMIT 10000
