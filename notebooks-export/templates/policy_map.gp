# Arrows in the free cells, coloured by the policy (series) that GPI picked; cells that the data do not
# hold are walls. The column mark says what lies in a cell: S, G, or the reward of an object in this task.
LEFT = 25; GAP = 25; FOOT = 85
@multiplot@
unset tics
unset grid
unset border
set size ratio -1
set xrange [-0.6:GRID_COLS - 0.4]
set yrange [GRID_ROWS - 0.4:-0.6]
dx(a) = a == 0 ? -0.35 : a == 2 ? 0.35 : 0
dy(a) = a == 1 ? -0.35 : a == 3 ? 0.35 : 0
here(p) = is(PANEL_COLUMN, PANEL[p]) ? column('col') : NaN
marked(p, kind) = is(PANEL_COLUMN, PANEL[p]) && strcol('kind') eq kind ? column('col') : NaN
worth(mark) = mark[1:1] eq '+' ? 0xF0E442 : mark[1:1] eq '-' ? 0xF2A6C8 : 0xDDDDDD
set object 1 rectangle from -0.5,-0.5 to GRID_COLS - 0.5,GRID_ROWS - 0.5 \
    fc rgb '#555555' fs solid noborder behind
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    plot DATA using (here(p)):(column('row')):(0.48):(0.48) \
             with boxxyerror fc rgb 'white' fs solid noborder, \
         DATA using (marked(p, 'start')):(column('row')):(0.48):(0.48) \
             with boxxyerror fc rgb '#CCCCCC' fs solid noborder, \
         DATA using (marked(p, 'goal')):(column('row')):(0.48):(0.48) \
             with boxxyerror fc rgb '#F0E442' fs solid noborder, \
         DATA using (marked(p, 'object')):(column('row')):(worth(strcol('mark'))) \
             with points pt 7 ps 2.6 lc rgb variable, \
         DATA using (here(p) - dx(column('action'))):(column('row') - dy(column('action')))\
             :(2*dx(column('action'))):(2*dy(column('action'))):(rgb(strcol(SERIES_COLUMN))) \
             with vectors head size 0.28,28,90 filled lw 1.6 lc rgb variable, \
         for [kind in 'start goal object'] DATA using \
             (marked(p, kind) + 0.2):(column('row') + 0.24):(strcol('mark')) with labels \
             font ',8' tc rgb 'black'
}
@legend@ with lines lw 4 lc rgb COLOUR[i] title 'policy of task '.SERIES[i], \
    keyentry with points pt 5 ps 1.6 lc rgb '#CCCCCC' title 'S: start', \
    keyentry with points pt 5 ps 1.6 lc rgb '#F0E442' title 'G: goal', \
    keyentry with points pt 7 ps 1.6 lc rgb '#F0E442' title 'object, with its reward', \
    keyentry with points pt 7 ps 1.6 lc rgb '#F2A6C8' title 'negative reward', \
    keyentry with points pt 7 ps 1.6 lc rgb '#DDDDDD' title 'reward 0'
unset multiplot
