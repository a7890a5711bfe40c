-- question: What is different between two runs: activations, their work, ends and durations, and tuples?
-- parameter: run = the run's number
-- parameter: other = number of the run to compare it with
-- column: change = activation (only one run has it), work (another command or other inputs), state, duration (by half and by a second at least), or tuple (but for the paths of files)
-- column: name = of the activation; relation and path of the tuple
-- column: in_run = state, key, seconds or values; empty = it is not there
-- column: in_other = the same in the other run
-- limit: 10000
WITH one AS (
    SELECT activation.name, activation.key, activation.state,
           date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s
    FROM activation
    LEFT JOIN attempt ON attempt.run_id = :run
                     AND attempt.activation_id = activation.activation_id
                     AND attempt.cause = 'finished'
    WHERE activation.run_id = :run
), two AS (
    SELECT activation.name, activation.key, activation.state,
           date_part('epoch', attempt.ended_at - attempt.started_at) AS took_s
    FROM activation
    LEFT JOIN attempt ON attempt.run_id = :other
                     AND attempt.activation_id = activation.activation_id
                     AND attempt.cause = 'finished'
    WHERE activation.run_id = :other
), activations AS (
    SELECT name, one.state AS state_1, two.state AS state_2, one.key AS key_1, two.key AS key_2,
           one.took_s AS took_1, two.took_s AS took_2
    FROM one
    FULL JOIN two USING (name)
    WHERE one.name IS NULL
       OR two.name IS NULL
       OR one.key <> two.key
       OR one.state <> two.state
       OR abs(one.took_s - two.took_s) >= greatest(1, 0.5 * least(one.took_s, two.took_s))
    LIMIT 10000
), shape AS (
    SELECT relation.relation_id, relation.name AS relation,
           coalesce(array_agg(field.name) FILTER (WHERE field.type = 'file'), '{}') AS files
    FROM run
    JOIN relation USING (workflow_id)
    LEFT JOIN field USING (relation_id)
    WHERE run.run_id IN (:run, :other)
    GROUP BY relation.relation_id
), tuples AS (
    SELECT relation, path, one.values AS values_1, two.values AS values_2
    FROM (
        SELECT relation, path, values, files FROM tuple JOIN shape USING (relation_id)
        WHERE run_id = :run
    ) AS one
    FULL JOIN (
        SELECT relation, path, values, files FROM tuple JOIN shape USING (relation_id)
        WHERE run_id = :other
    ) AS two USING (relation, path)
    WHERE one.values IS DISTINCT FROM two.values
      AND one.values - one.files IS DISTINCT FROM two.values - two.files
    LIMIT 10000
)
SELECT change, name, in_run, in_other
FROM (
    SELECT difference.rank, difference.change, name, difference.in_run, difference.in_other
    FROM activations
    CROSS JOIN LATERAL (
        VALUES (1, 'activation', state_1, state_2, state_1 IS NULL OR state_2 IS NULL),
               (2, 'work', key_1, key_2, key_1 <> key_2),
               (3, 'state', state_1, state_2, state_1 <> state_2),
               (4, 'duration', took_1::text, took_2::text,
                abs(took_1 - took_2) >= greatest(1, 0.5 * least(took_1, took_2)))
    ) AS difference (rank, change, in_run, in_other, is_one)
    WHERE difference.is_one
  UNION ALL
    SELECT 5, 'tuple', relation || ' ' || path, values_1::text, values_2::text FROM tuples
) AS differences
ORDER BY rank, name
LIMIT 10000
