-- question: What has changed between two runs: which activations are new or gone, have other work, or ended otherwise?
-- parameter: run = the run's number
-- parameter: other = number of the run to compare it with
-- column: change = activation (only one run has it), work (another command or other inputs) or state
-- column: name = of the activation
-- column: in_run = state or key; empty = it is not there
-- column: in_other = the same in the other run
-- limit: 10000
SELECT change, name, in_run, in_other
FROM (
    SELECT name, one.state AS state_1, two.state AS state_2, one.key AS key_1, two.key AS key_2
    FROM (SELECT name, key, state FROM activation WHERE run_id = :run) AS one
    FULL JOIN (SELECT name, key, state FROM activation WHERE run_id = :other) AS two USING (name)
    WHERE one.state IS DISTINCT FROM two.state OR one.key IS DISTINCT FROM two.key
    LIMIT 10000
) AS activations
CROSS JOIN LATERAL (
    VALUES (1, 'activation', state_1, state_2, state_1 IS NULL OR state_2 IS NULL),
           (2, 'work', key_1, key_2, key_1 <> key_2),
           (3, 'state', state_1, state_2, state_1 <> state_2)
) AS difference (rank, change, in_run, in_other, is_one)
WHERE is_one
ORDER BY rank, name
LIMIT 10000
