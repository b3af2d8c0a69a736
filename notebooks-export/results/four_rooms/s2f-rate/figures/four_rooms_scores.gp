# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_scores.gp
NAME = 'four_rooms_scores'
DATA = 'four_rooms_scores.csv'
array XLABELS[6] = ['mean over tasks', 'mean over tasks', 'mean over tasks', 'mean over tasks', 'mean over tasks', 'mean over tasks']
LEFT = 207.8
ZERO = 0
ROWS = 2
COLS = 3
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'quantity'
PANEL_WORD = ''
array PANEL[6] = ['cumulative reward', 'discounted return', 'success', 'steps to the goal', 'final return', 'zero-shot return']
array SERIES[1] = ['fg-sfrql@semi+sf.lr=1e-4']
array COLOUR[1] = ['#56B4E9']
array DASH[1] = [2]
array POINT[1] = [6]
EXTRA = 0
TITLE = 'four_rooms (s2f-rate, clean): scores, mean over seeds and 95 % interval, n = 10 seeds'
HEAD = 0
WIDTH = 1237
HEIGHT = 342
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
# One row per series, a point with its interval. LEFT is the room for the names. ZERO = 1 starts the
# axis at 0; ZERO = -1 keeps 0 in sight and draws a line there.
GAP = 46; FOOT = 60
array TOP[|PANEL|]
array STEP[|PANEL|]
do for [p=1:|PANEL|] {
    stats DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('low') : NaN)\
        :(is(PANEL_COLUMN, PANEL[p]) ? column('high') : NaN) nooutput
    TOP[p] = STATS_max_y
    SPAN = (ZERO && TOP[p] < 0 ? 0 : TOP[p]) - (ZERO && STATS_min_x > 0 ? 0 : STATS_min_x)
    UNIT = SPAN > 0 ? 10**floor(log10(SPAN/5)) : 0
    STEP[p] = SPAN > 7*5*UNIT ? 10*UNIT : SPAN > 3*5*UNIT ? 5*UNIT : SPAN > 1.2*5*UNIT ? 2*UNIT : UNIT
}
set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*LEFT/WIDTH, 1-25.0/WIDTH, (FOOT + EXTRA + 0.0)/HEIGHT, 1-(62.0 + HEAD)/HEIGHT \
    spacing 1.0*GAP/WIDTH, 78.0/HEIGHT
set yrange [0.4:|SERIES| + 0.6]
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    set xlabel XLABELS[p] offset 0,0.3
    set format x (TOP[p] >= 5000 ? '%.0s%c' : '%g')
    if (STEP[p] > 0) { set xtics STEP[p] } else { set xtics autofreq }
    set ytics scale 0 ()
    do for [i=1:|SERIES|] {
        LABEL = (p - 1) % COLS == 0 ? tic(SERIES[i]) : ''
        AT_ROW = |SERIES| + 1 - i
        set ytics add (LABEL AT_ROW)
    }
    if (ZERO > 0) { set xrange [0:*] } else {
        set autoscale xfix
        set offsets graph 0.04, graph 0.04, 0, 0
    }
    if (ZERO < 0) {
        set xrange [*<0:0<*]
        set arrow 1 from 0, graph 0 to 0, graph 1 nohead lc rgb '#444444' dt 2
    }
    plot for [i=1:|SERIES|] DATA using \
             (get(SERIES[i], PANEL[p], 'mean')):(|SERIES| + 1 - i)\
             :(get(SERIES[i], PANEL[p], 'low')):(get(SERIES[i], PANEL[p], 'high')) \
             with xerrorbars pt POINT[i] ps 1.2 lw 2.2 lc rgb COLOUR[i]
}
unset multiplot
unset output
}
