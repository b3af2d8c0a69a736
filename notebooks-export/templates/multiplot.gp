set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*LEFT/WIDTH, 1-25.0/WIDTH, (FOOT + EXTRA + 0.0)/HEIGHT, 1-(62.0 + HEAD)/HEIGHT \
    spacing 1.0*GAP/WIDTH, 78.0/HEIGHT
