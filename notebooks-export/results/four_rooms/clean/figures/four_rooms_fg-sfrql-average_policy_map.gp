# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_fg-sfrql-average_policy_map.gp
NAME = 'four_rooms_fg-sfrql-average_policy_map'
DATA = 'four_rooms_fg-sfrql-average_policy_map.csv'
TITLE = 'four_rooms, fg-sfrql-average (clean): greedy actions, coloured by the policy that GPI picked'
WIDTH = 1090
HEIGHT = 810
SERIES_COLUMN = 'prior'
PANEL_COLUMN = 'task'
array PANEL[6] = ['0', '1', '2', '3', '4', '5']
PANEL_WORD = 'task '
array SERIES[6] = ['0', '1', '2', '3', '4', '5']
array COLOUR[6] = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9']
GRID_ROWS = 13
GRID_COLS = 13
ROWS = 2
COLS = 3
is(column_name, value) = strcol(column_name) eq value
in(s, p) = is(SERIES_COLUMN, s) && is(PANEL_COLUMN, p)
get(s, p, column_name) = in(s, p) ? column(column_name) : NaN
hex(colour) = int('0x'.colour[2:7])
rgb(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? hex(COLOUR[i]) : 0))
tic(s) = strstrt(s, '%') \
    ? s[1:strstrt(s, '%')].'%'.tic(s[strstrt(s, '%')+1:*]) : s

do for [EXT in 'png svg'] {
reset
if (EXT eq 'png') {
    set terminal pngcairo size WIDTH,HEIGHT font 'DejaVu Sans,10' noenhanced
} else {
    set terminal svg size WIDTH,HEIGHT font 'DejaVu Sans,12' noenhanced background rgb 'white'
}
set output NAME.'.'.EXT
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile missing ''
set tics nomirror scale 0.5
set border 3 lc rgb '#444444'
set grid lc rgb '#E6E6E6' lt 1 lw 1
set style fill solid 1 noborder
unset key
set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*(25)/WIDTH, 1-25.0/WIDTH, 60.0/HEIGHT, 1-62.0/HEIGHT \
    spacing 25.0/WIDTH, 78.0/HEIGHT
unset tics
unset grid
unset border
set size ratio -1
set xrange [-0.6:GRID_COLS - 0.4]
set yrange [GRID_ROWS - 0.4:-0.6]
dx(a) = a == 0 ? -0.35 : a == 2 ? 0.35 : 0
dy(a) = a == 1 ? -0.35 : a == 3 ? 0.35 : 0
set object 1 rectangle from -0.5,-0.5 to GRID_COLS - 0.5,GRID_ROWS - 0.5 \
    fc rgb '#555555' fs solid noborder behind
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    plot DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('col') : NaN):(column('row'))\
             :(0.48):(0.48) with boxxyerror fc rgb 'white' fs solid noborder, \
         DATA using \
             (is(PANEL_COLUMN, PANEL[p]) ? column('col') - dx(column('action')) : NaN)\
             :(column('row') - dy(column('action')))\
             :(2*dx(column('action'))):(2*dy(column('action')))\
             :(rgb(strcol(SERIES_COLUMN))) \
             with vectors head size 0.28,28,90 filled lw 1.6 lc rgb variable
}
reset
unset tics
unset border
set lmargin at screen 0.02
set rmargin at screen 0.98
set bmargin at screen 0
set tmargin at screen 50.0/HEIGHT
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse samplen 2 width 2
plot NaN notitle, for [i=1:|SERIES|] keyentry with lines lw 4 lc rgb COLOUR[i] title 'policy of task '.SERIES[i]
unset multiplot
unset output
}
