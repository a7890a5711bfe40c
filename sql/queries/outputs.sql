-- question: Which tuples did the run produce that nothing consumed, its results?
-- parameter: run = the run's number
-- column: tuple = number of the tuple, for the query lineage
-- column: relation = name
-- column: values = the fields
-- column: generated_by = the activation that made it
SELECT tuple.tuple_id AS tuple,
       relation.name AS relation,
       tuple.values,
       activation.name AS generated_by
FROM tuple
JOIN relation USING (relation_id)
JOIN activation ON activation.run_id = tuple.run_id
               AND activation.activation_id = tuple.generated_by
WHERE tuple.run_id = :run
  AND NOT EXISTS (SELECT FROM activity WHERE activity.input_relation_id = relation.relation_id)
ORDER BY tuple.tuple_id
