# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_diagnostics.gp
NAME = 'four_rooms_diagnostics'
DATA = 'four_rooms_diagnostics.csv'
XSCALE = 1000
XLABEL = 'training steps, all tasks (thousands)'
XCOLUMN = 'step'
array YLABELS[4] = ['geometric mean over seeds', 'geometric mean over seeds', 'geometric mean over seeds', 'geometric mean over seeds']
MARK = -1
LOGX = 0
LOGY = 1
PAPER = 0
ROWS = 2
COLS = 2
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'quantity'
PANEL_WORD = ''
array PANEL[4] = ['error of the successor features', 'Bellman residual (held-out transitions)', 'gradient norm', 'error of the reward weights w']
array SERIES[4] = ['full; reward.model=known', 'full; reward.model=linear_nlms', 'semi; reward.model=known', 'semi; reward.model=linear_nlms']
array COLOUR[4] = ['#0072B2', '#0072B2', '#56B4E9', '#56B4E9']
array DASH[4] = [1, 1, 2, 2]
array POINT[4] = [7, 5, 6, 4]
EXTRA = 0
TITLE = 'four_rooms (s2, clean): errors, residual and gradient norm while training, n = 10 seeds'
HEAD = 0
WIDTH = 1080
HEIGHT = 790
# A column's value in the rows of one series and panel; undefined, so not drawn, in all others.
is(column_name, value) = strcol(column_name) eq value
in(s, p) = is(SERIES_COLUMN, s) && is(PANEL_COLUMN, p)
get(s, p, column_name) = in(s, p) ? column(column_name) : NaN
hex(colour) = int('0x'.colour[2:7])
rgb(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? hex(COLOUR[i]) : 0))
# gnuplot takes the names on an axis for formats, so their % is doubled.
tic(s) = strstrt(s, '%') \
    ? s[1:strstrt(s, '%')].'%'.tic(s[strstrt(s, '%')+1:*]) : s

do for [EXT in 'png svg'] {
reset
if (EXT eq 'png') {
    set terminal pngcairo size WIDTH,HEIGHT font 'DejaVu Sans,10' noenhanced \
        dashlength 0.6
} else {
    set terminal svg size WIDTH,HEIGHT font 'DejaVu Sans,12' noenhanced \
        background rgb 'white' dashlength 0.6
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
# Curves with bands, one panel each. With MARK > 0 every value is a point; else a few points along each
# curve tell it from the others in grey. With PAPER = 1 the column paper holds values to mark;
# with 0 gnuplot draws no marks but looks at the data for them once.
LEFT = 90; GAP = 90; FOOT = 105
# Rows of one curve, of which every sixth or so gets a point.
stats DATA using (in(SERIES[1], PANEL[1]) ? 1 : NaN) nooutput
EVERY = MARK > 0 || STATS_records < 12 ? 1 : int(STATS_records / 6)
set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*LEFT/WIDTH, 1-25.0/WIDTH, (FOOT + EXTRA + 0.0)/HEIGHT, 1-(62.0 + HEAD)/HEIGHT \
    spacing 1.0*GAP/WIDTH, 78.0/HEIGHT
if (LOGX) { set logscale x; set format x '%g' }
if (LOGY) { set logscale y; set format y '%g' }
set xlabel XLABEL offset 0,0.3
do for [p=1:|PANEL|] {
    set ylabel YLABELS[p]
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    plot for [i=1:|SERIES|] DATA using (get(SERIES[i], PANEL[p], XCOLUMN)/XSCALE)\
             :(get(SERIES[i], PANEL[p], 'low')):(get(SERIES[i], PANEL[p], 'high')) \
             with filledcurves fc rgb COLOUR[i] fs transparent solid 0.18 noborder, \
         for [i=1:|SERIES|] DATA using (get(SERIES[i], PANEL[p], XCOLUMN)/XSCALE)\
             :(get(SERIES[i], PANEL[p], 'mean')) \
             with linespoints lw 2 dt DASH[i] pt POINT[i] ps 0.9 pi EVERY lc rgb COLOUR[i], \
         for [k=1:PAPER] DATA using (is(PANEL_COLUMN, PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN)\
             :(column(PAPER ? 'paper' : 'mean')):(rgb(strcol(SERIES_COLUMN))) \
             with points pt 8 ps 1.2 lw 1.6 lc rgb variable
}
# The legend is a last, empty plot along the foot: a key inside a panel would be as narrow as it.
reset
unset tics
unset border
set lmargin at screen 0.02
set rmargin at screen 0.98
set bmargin at screen 0
set tmargin at screen (50.0 + EXTRA)/HEIGHT
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse samplen 4 width 2
plot NaN notitle, for [i=1:|SERIES|] keyentry with linespoints lw 2 dt DASH[i] pt POINT[i] ps 0.9 lc rgb COLOUR[i] title SERIES[i], \
    for [k=1:PAPER] keyentry with points pt 8 ps 1.2 lw 1.6 lc rgb 'black' \
        title 'paper, end of task'
unset multiplot
unset output
}
