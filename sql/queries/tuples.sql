-- question: Which tuples does a relation of the run have?
-- parameter: run = the run's number
-- parameter: relation = name
-- column: tuple = number of the tuple
-- column: path = line of the dataset, then one number per SPLIT_MAP
-- column: values = the fields
-- column: generated_by = the activation that made it; empty for an input of the run
-- limit: 10000
SELECT tuple.tuple_id AS tuple,
       tuple.path,
       tuple.values,
       activation.name AS generated_by
FROM run
JOIN relation USING (workflow_id)
JOIN tuple USING (run_id, relation_id)
LEFT JOIN activation ON activation.run_id = tuple.run_id
                    AND activation.activation_id = tuple.generated_by
WHERE run.run_id = :run AND lower(relation.name) = lower(CAST(:relation AS text))
ORDER BY tuple.tuple_id
LIMIT 10000
