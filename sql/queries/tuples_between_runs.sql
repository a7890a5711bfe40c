-- question: Which tuples of a relation are different in two runs, but for the paths of files?
-- parameter: run = the run's number
-- parameter: other = number of the run to compare it with
-- parameter: relation = name of the relation
-- column: path = line of the dataset, then one number per SPLIT_MAP
-- column: in_run = values; empty = it is not there
-- column: in_other = the same in the other run
-- limit: 10000
WITH shape AS NOT MATERIALIZED (  -- a part of the query, because what is materialized is read by one process
    SELECT relation_id,
           coalesce(array_agg(field.name) FILTER (WHERE field.type = 'file'), '{}') AS files
    FROM run
    JOIN relation USING (workflow_id)
    LEFT JOIN field USING (relation_id)
    WHERE run.run_id IN (:run, :other) AND relation.name = :relation
    GROUP BY relation_id
)
SELECT path, in_run, in_other
FROM (
    SELECT path, one.values::text AS in_run, two.values::text AS in_other
    FROM (
        SELECT path, values, files FROM tuple JOIN shape USING (relation_id) WHERE run_id = :run
    ) AS one
    FULL JOIN (
        SELECT path, values, files FROM tuple JOIN shape USING (relation_id) WHERE run_id = :other
    ) AS two USING (path)
    WHERE one.values IS DISTINCT FROM two.values
      AND one.values - one.files IS DISTINCT FROM two.values - two.files
    LIMIT 10000
) AS differences
ORDER BY path
