# Paths in the plane, one panel per task, over the walls (rows of the series 'wall') and the goals: rows
# of the series 'mark' stand in every panel, those of 'goal' in their task's.
LEFT = 80; GAP = 70; FOOT = 105
@multiplot@
set size ratio -1
unset grid
set xrange [LOW_X:HIGH_X]
set yrange [LOW_Y:HIGH_Y]
set xtics TIC
set ytics TIC
set xlabel XLABEL offset 0,0.3
set ylabel YLABEL offset 1,0
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    plot DATA using (is('method', 'wall') ? column('x') : NaN):(column('y')):(0.5):(0.5) \
             with boxxyerror fc rgb '#BBBBBB' fs solid noborder, \
         for [i=1:|SERIES|] for [k=1:EPISODES] DATA using \
             (column('episode') == k - 1 ? get(SERIES[i], PANEL[p], 'x') : NaN):(column('y')) \
             with lines lw 1.4 dt DASH[i] lc rgb COLOUR[i], \
         for [i=1:|SERIES|] DATA using \
             (column('t') == 0 ? get(SERIES[i], PANEL[p], 'x') : NaN):(column('y')) \
             with points pt 6 ps 1.2 lw 1.6 lc rgb COLOUR[i], \
         DATA using (is('method', 'mark') ? column('x') : NaN):(column('y')) \
             with points pt 2 ps 1.0 lw 1.2 lc rgb '#666666', \
         DATA using (get('goal', PANEL[p], 'x')):(column('y')) \
             with points pt 3 ps 2.0 lw 2.2 lc rgb 'black'
}
@legend@ with lines lw 2 dt DASH[i] lc rgb COLOUR[i] title SERIES[i], \
    keyentry with points pt 6 ps 1.2 lw 1.6 lc rgb 'black' title 'start', \
    keyentry with points pt 3 ps 1.6 lw 2 lc rgb 'black' title "the task's target", \
    keyentry with points pt 2 ps 1.0 lw 1.2 lc rgb '#666666' title 'targets of other tasks'
unset multiplot
