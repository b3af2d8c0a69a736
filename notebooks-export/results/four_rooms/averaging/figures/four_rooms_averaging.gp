# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_averaging.gp
NAME = 'four_rooms_averaging'
DATA = 'four_rooms_averaging.csv'
array YLABELS[5] = ['cumulative reward', 'success', 'steps to the goal', 'final return', 'zero-shot return']
XCOLUMN = 'n'
XLABEL = 'N, next states averaged per pair'
LOGX = 0
SHIFT = 0.2
ROWS = 2
COLS = 3
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'quantity'
PANEL_WORD = ''
array PANEL[5] = ['slip 0.1: cumulative reward', 'slip 0.1: success', 'slip 0.1: steps to the goal', 'slip 0.1: final return', 'slip 0.1: zero-shot return']
array SERIES[5] = ['fg-sfrql', 'fg-sfrql-seq-average (critic_only)', 'fg-sfrql-seq-average (shared)', 'fg-sfrql-seq-average (split)', 'sfrql']
array COLOUR[5] = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00']
array DASH[5] = [1, 2, 3, 4, 5]
TITLE = 'four_rooms (averaging): averaging over next states, mean and 95 % interval, n = 3 to 5 seeds [smoke]'
WIDTH = 1180
HEIGHT = 710
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
# Points with intervals against a few values of x, joined by lines. Series stand a little apart, so
# that intervals do not hide each other.
LEFT = 80; GAP = 80; FOOT = 105
set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*LEFT/WIDTH, 1-25.0/WIDTH, 1.0*FOOT/HEIGHT, 1-62.0/HEIGHT \
    spacing 1.0*GAP/WIDTH, 78.0/HEIGHT
set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05
set xlabel XLABEL offset 0,0.3
if (LOGX) { set logscale x; set format x '%g' }
shifted(x, i) = LOGX ? x * 1.04**(i - 1) : x + SHIFT*(i - 1)
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    set ylabel YLABELS[p] offset 1,0
    plot for [i=1:|SERIES|] DATA using (shifted(get(SERIES[i], PANEL[p], XCOLUMN), i))\
             :(get(SERIES[i], PANEL[p], 'mean')):(get(SERIES[i], PANEL[p], 'low'))\
             :(get(SERIES[i], PANEL[p], 'high')) \
             with yerrorlines pt (DASH[i] == 1 ? 7 : 6) ps 1 lw 2 dt DASH[i] lc rgb COLOUR[i]
}
# The legend is a last, empty plot along the foot: a key inside a panel would be as narrow as it.
reset
unset tics
unset border
set lmargin at screen 0.02
set rmargin at screen 0.98
set bmargin at screen 0
set tmargin at screen 50.0/HEIGHT
set xrange [0:1]
set yrange [0:1]
set key inside center center horizontal Left reverse samplen 4 width 2
plot NaN notitle, for [i=1:|SERIES|] keyentry with lines lw 2 dt DASH[i] lc rgb COLOUR[i] title SERIES[i]
unset multiplot
unset output
}
