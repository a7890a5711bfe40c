"""Where the VMs come from: types and prices now, EC2 and SSH later."""
