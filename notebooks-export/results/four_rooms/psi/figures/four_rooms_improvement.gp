# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_improvement.gp
NAME = 'four_rooms_improvement'
DATA = 'four_rooms_improvement.csv'
TITLE = 'four_rooms (clean): probability of improvement, 95 % interval, n = 3 seeds [smoke]'
WIDTH = 1330
HEIGHT = 200
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'quantity'
array PANEL[3] = ['final return', 'zero-shot return', 'cumulative reward']
PANEL_WORD = ''
array SERIES[1] = ['fg-sfrql > sfrql']
array COLOUR[1] = ['#56B4E9']
array XLABELS[3] = ['P(left beats right)', 'P(left beats right)', 'P(left beats right)']
LEFT = 150.2
ROWS = 1
COLS = 3
REFERENCE = 1
AT = 0.5
ZERO = 0
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
array TOP[|PANEL|]
do for [p=1:|PANEL|] {
    stats DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('high') : NaN) nooutput
    TOP[p] = STATS_max
}
set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*(LEFT)/WIDTH, 1-25.0/WIDTH, 60.0/HEIGHT, 1-62.0/HEIGHT \
    spacing 30.0/WIDTH, 78.0/HEIGHT
set yrange [0.4:|SERIES| + 0.6]
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    set xlabel XLABELS[p] offset 0,0.3
    set format x (TOP[p] >= 5000 ? '%.0s%c' : '%g')
    set ytics scale 0 ()
    do for [i=1:|SERIES|] {
        LABEL = p == 1 ? tic(SERIES[i]) : ''
        AT_ROW = |SERIES| + 1 - i
        set ytics add (LABEL AT_ROW)
    }
    if (ZERO) { set xrange [0:*] } else { set offsets graph 0.03, graph 0.03, 0, 0 }
    if (REFERENCE) {
        set arrow 1 from AT, graph 0 to AT, graph 1 nohead lc rgb '#444444' dt 2
        set xrange [0:1.02]
    }
    plot for [i=1:|SERIES|] DATA using \
             (get(SERIES[i], PANEL[p], 'mean')):(|SERIES| + 1 - i)\
             :(get(SERIES[i], PANEL[p], 'low')):(get(SERIES[i], PANEL[p], 'high')) \
             with xerrorbars pt 7 ps 1.1 lw 2.2 lc rgb COLOUR[i]
}
unset multiplot
unset output
}
