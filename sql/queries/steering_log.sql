-- question: What did users ask of the run while it went on, and what came of it?
-- parameter: run = the run's number
-- column: number = 1, 2, … in the order of the requests
-- column: action = cancel, pause or resume
-- column: activity = tag; empty = the whole run
-- column: conditions = only activations that consume a tuple like this
-- column: requested_by = user and host
-- column: requested_at = when
-- column: handled_at = when the master saw it; empty = not yet
-- column: outcome = what the master did
SELECT number, action, activity, conditions, requested_by, requested_at, handled_at, outcome
FROM steering
WHERE run_id = :run
ORDER BY number
