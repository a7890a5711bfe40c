-- question: What does the run cost, VM by VM, until now or until its end?
-- parameter: run = the run's number
-- column: vm = id within the run's fleet
-- column: vm_type = name
-- column: price_usd_per_hour = of its type
-- column: seconds = since it joined, until it left, was lost or the run ended
-- column: billed_s = whole seconds, at least 60, as providers bill
-- column: cost_usd = billed time at that price
SELECT vm.vm,
       vm.vm_type,
       vm.price_usd_per_hour,
       used.seconds,
       used.billed_s,
       used.billed_s * vm.price_usd_per_hour / 3600 AS cost_usd
FROM run
JOIN vm USING (run_id)
CROSS JOIN LATERAL (
    SELECT date_part('epoch', coalesce(vm.left_at, run.ended_at, now()) - vm.joined_at) AS seconds
) AS present
CROSS JOIN LATERAL (
    SELECT coalesce(present.seconds, 0) AS seconds,
           CASE
               WHEN present.seconds > 0 THEN greatest(ceil(present.seconds), 60) ELSE 0
           END AS billed_s
) AS used
WHERE run.run_id = :run
ORDER BY vm.vm
