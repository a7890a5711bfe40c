-- question: How far is the run, activity by activity?
-- parameter: run = the run's number
-- column: activity = tag, in the order of the workflow
-- column: activations = known so far
-- column: ready = waiting for a slot of their VM
-- column: running = running now
-- column: finished = ended well
-- column: failed = used up their attempts
-- column: blocked = can never run, because a parent failed
SELECT activity.tag AS activity,
       count(activation_id) AS activations,
       count(*) FILTER (WHERE activation.state = 'ready') AS ready,
       count(*) FILTER (WHERE activation.state = 'running') AS running,
       count(*) FILTER (WHERE activation.state = 'finished') AS finished,
       count(*) FILTER (WHERE activation.state = 'failed') AS failed,
       count(*) FILTER (WHERE activation.state = 'blocked') AS blocked
FROM run
JOIN activity USING (workflow_id)
LEFT JOIN activation USING (run_id, activity_id)
WHERE run_id = :run
GROUP BY activity.activity_id
ORDER BY activity.position
