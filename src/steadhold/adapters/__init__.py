"""Agent frameworks that keep their state in steadhold, a file each. Each needs its extra; nothing here loads one."""
