-- question: How busy were the VMs?
-- parameter: run = the run's number
-- column: vm = id within the run's fleet
-- column: vm_type = name
-- column: slots = activations that it can run at once
-- column: attempts = that ran there
-- column: busy_s = time of all attempts there times the slots that they took, added up
-- column: present_s = since it joined, until it left, was lost or the run ended
-- column: utilisation = busy / (present × slots); 1 = no slot was ever idle
SELECT vm.vm,
       vm.vm_type,
       vm.slots,
       count(attempt.number) AS attempts,
       coalesce(
           sum(
               date_part('epoch', coalesce(attempt.ended_at, limits.until) - attempt.started_at)
               * least(coalesce(allocation.cpus, 1), vm.slots)
           ),
           0
       )::float AS busy_s,
       coalesce(limits.present_s, 0) AS present_s,
       sum(
           date_part('epoch', coalesce(attempt.ended_at, limits.until) - attempt.started_at)
           * least(coalesce(allocation.cpus, 1), vm.slots)
       )::float
           / nullif(limits.present_s * vm.slots, 0) AS utilisation
FROM run
JOIN vm USING (run_id)
CROSS JOIN LATERAL (
    SELECT coalesce(vm.left_at, run.ended_at, now()) AS until,
           date_part('epoch', coalesce(vm.left_at, run.ended_at, now()) - vm.joined_at)
               AS present_s
) AS limits
LEFT JOIN attempt ON attempt.run_id = :run AND attempt.vm = vm.vm
LEFT JOIN allocation ON allocation.run_id = :run
                    AND allocation.activation_id = attempt.activation_id
                    AND allocation.number = attempt.number
WHERE run.run_id = :run
GROUP BY vm.run_id, vm.vm, limits.present_s
ORDER BY vm.vm
