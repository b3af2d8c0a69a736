# Draws the .png and the .svg from the .csv beside it: gnuplot point_maze_umaze_trajectories.gp
NAME = 'point_maze_umaze_trajectories'
DATA = 'point_maze_umaze_trajectories.csv'
TITLE = 'point_maze_umaze (clean): paths of the first evaluation episodes'
WIDTH = 1360
HEIGHT = 770
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'task'
array PANEL[8] = ['0', '1', '2', '3', '4', '5', '6', '7']
PANEL_WORD = 'task '
array SERIES[4] = ['dqn', 'fg-dqn', 'sfrql', 'fg-sfrql']
array COLOUR[4] = ['#E69F00', '#D55E00', '#56B4E9', '#0072B2']
XLABEL = 'x (m)'
YLABEL = 'y (m)'
EPISODES = 3
TIC = 1
ROWS = 2
COLS = 4
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
    margins 1.0*(80)/WIDTH, 1-25.0/WIDTH, 105.0/HEIGHT, 1-62.0/HEIGHT \
    spacing 70.0/WIDTH, 78.0/HEIGHT
set size ratio -1
unset grid
set xtics TIC
set ytics TIC
set xlabel XLABEL offset 0,0.3
set ylabel YLABEL offset 1,0
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    plot DATA using (is('method', 'wall') ? column('x') : NaN):(column('y'))\
             :(0.5):(0.5) with boxxyerror fc rgb '#BBBBBB' fs solid noborder, \
         for [i=1:|SERIES|] for [k=1:EPISODES] DATA using \
             (column('episode') == k - 1 ? get(SERIES[i], PANEL[p], 'x') : NaN)\
             :(column('y')) with lines lw 1.4 lc rgb COLOUR[i], \
         for [i=1:|SERIES|] DATA using \
             (column('t') == 0 ? get(SERIES[i], PANEL[p], 'x') : NaN):(column('y')) \
             with points pt 6 ps 1.2 lw 1.6 lc rgb COLOUR[i], \
         DATA using (is('method', 'mark') ? column('x') : NaN):(column('y')) \
             with points pt 2 ps 1.3 lw 2 lc rgb 'black'
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
plot NaN notitle, for [i=1:|SERIES|] keyentry with lines lw 2 lc rgb COLOUR[i] title SERIES[i], \
    keyentry with points pt 6 ps 1.2 lw 1.6 lc rgb 'black' title 'start'
unset multiplot
unset output
}
