-- Plans that belong together bear the number of the first of them; alone, a plan bears none.
ALTER TABLE plan ADD COLUMN front_id integer REFERENCES plan (plan_id);  -- one of them is chosen
ALTER TABLE plan ADD COLUMN joint_id integer REFERENCES plan (plan_id);  -- they share their VMs
