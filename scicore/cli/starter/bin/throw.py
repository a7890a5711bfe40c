"""throw.py SPEED ANGLE: follow a ball through the air; how far it flies, how it takes the wall."""

import math
import sys
from pathlib import Path

WALL_AT_M, WALL_HEIGHT_M = 15.0, 4.0
GRAVITY, DRAG, STEP_S = 9.81, 0.006, 0.001

speed, angle = float(sys.argv[1]), math.radians(float(sys.argv[2]))
x, y = 0.0, 1.5  # metres; it leaves the hand at shoulder height
vx, vy = speed * math.cos(angle), speed * math.sin(angle)
clearance = -WALL_HEIGHT_M  # unless it gets there
while y > 0:
    if x < WALL_AT_M <= x + vx * STEP_S:
        clearance = y - WALL_HEIGHT_M
    x, y = x + vx * STEP_S, y + vy * STEP_S
    drag = DRAG * math.hypot(vx, vy)
    vx, vy = vx - drag * vx * STEP_S, vy - (GRAVITY + drag * vy) * STEP_S

Path("ERelation.txt").write_text(f"DISTANCE;CLEARANCE\n{x};{clearance}\n")
