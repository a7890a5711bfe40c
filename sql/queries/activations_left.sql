-- question: How much is left to do, activity by activity?
-- parameter: run = the run's number
-- column: activity = tag, in the order of the workflow
-- column: planned = activations that the plan foresaw
-- column: known = activations that exist so far
-- column: ended = finished, failed, blocked or cancelled
-- column: running = running now
-- column: left = not ended, of those that are planned or known
SELECT activity.tag AS activity,
       coalesce(planned.activations, 0) AS planned,
       coalesce(known.activations, 0) AS known,
       coalesce(known.ended, 0) AS ended,
       coalesce(known.running, 0) AS running,
       greatest(planned.activations, known.activations, 0) - coalesce(known.ended, 0) AS "left"
FROM run
JOIN activity USING (workflow_id)
LEFT JOIN (
    SELECT activity_id,
           count(*) AS activations,
           count(*) FILTER (WHERE state IN ('finished', 'failed', 'blocked', 'cancelled')) AS ended,
           count(*) FILTER (WHERE state = 'running') AS running
    FROM activation
    WHERE run_id = :run
    GROUP BY activity_id
) AS known USING (activity_id)
LEFT JOIN (
    SELECT activity AS tag, count(*) AS activations
    FROM assignment
    WHERE plan_id = (SELECT plan_id FROM run WHERE run_id = :run)
    GROUP BY activity
) AS planned USING (tag)
WHERE run.run_id = :run
ORDER BY activity.position
