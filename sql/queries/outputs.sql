-- question: Which tuples did the run produce that nothing consumed, its results?
-- parameter: run = the run's number
-- column: tuple = number of the tuple, for the query lineage
-- column: relation = name
-- column: values = the fields
-- column: generated_by = the activation that made it
-- limit: 10000
WITH results AS (
    SELECT tuple.tuple_id, relation.name AS relation, tuple.values, tuple.generated_by
    FROM tuple
    JOIN relation USING (relation_id)
    WHERE tuple.run_id = :run
      AND tuple.generated_by IS NOT NULL
      AND NOT EXISTS (SELECT FROM activity WHERE activity.input_relation_id = relation_id)
      AND NOT EXISTS (SELECT FROM activity_reads WHERE activity_reads.relation_id = tuple.relation_id)
    ORDER BY tuple.tuple_id
    LIMIT 10000
)
SELECT results.tuple_id AS tuple,
       results.relation,
       results.values,
       activation.name AS generated_by
FROM results
JOIN activation ON activation.run_id = :run
               AND activation.activation_id = results.generated_by
ORDER BY results.tuple_id
