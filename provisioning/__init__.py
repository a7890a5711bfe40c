"""Where the VMs come from: types, prices, and clusters that are rented and ended."""
