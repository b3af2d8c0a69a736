# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_evaluation.gp
NAME = 'four_rooms_evaluation'
DATA = 'four_rooms_evaluation.csv'
XLABEL = 'task'
YLABEL = 'undiscounted return per episode (learned, epsilon 0)'
PAPER = 0
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'task'
PANEL_WORD = ''
array PANEL[6] = ['0', '1', '2', '3', '4', '5']
array SERIES[8] = ['sfrql; plain; avg.n=1', 'fg-sfrql; plain; avg.n=1', 'fg-sfrql-seq-average; critic_only; avg.n=5', 'fg-sfrql-seq-average; critic_only; avg.n=20', 'fg-sfrql-seq-average; shared; avg.n=5', 'fg-sfrql-seq-average; shared; avg.n=20', 'fg-sfrql-seq-average; split; avg.n=5', 'fg-sfrql-seq-average; split; avg.n=20']
array COLOUR[8] = ['#56B4E9', '#0072B2', '#D55E00', '#D55E00', '#000000', '#000000', '#CC79A7', '#CC79A7']
array DASH[8] = [2, 1, 2, 2, 5, 5, 4, 4]
array POINT[8] = [6, 7, 4, 8, 10, 12, 12, 14]
EXTRA = 54
TITLE = 'four_rooms (averaging): final evaluation, mean and 95 % interval, n = 3 to 5 seeds [few seeds]'
WIDTH = 1070
HEIGHT = 554
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
# Bars in clusters, one cluster per panel name; with PAPER = 1 the column paper holds values to mark.
# Full gradients are filled, semi-gradients hatched, so that grey print tells them apart.
set title TITLE
set key at screen 0.5, screen 6.0/HEIGHT center bottom horizontal Left reverse samplen 2 \
    width 2 noautotitle
set lmargin 10
set bmargin at screen (100.0 + EXTRA)/HEIGHT
set xlabel XLABEL offset 0,0.3
set ylabel YLABEL
set xrange [0.4:|PANEL| + 0.6]
set yrange [*<0:0<*]
set xtics scale 0 ()
do for [p=1:|PANEL|] { set xtics add (tic(PANEL[p]) p) }
set grid noxtics ytics
set xzeroaxis lt 1 lc rgb '#444444'
BOX = 0.84 / |SERIES|
at(p, i) = p + (i - 0.5*(|SERIES| + 1)) * BOX
number_of_series(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? i : 0))
number_of_panel(s) = int(sum [p=1:|PANEL|] (s eq PANEL[p] ? p : 0))
set boxwidth 0.88*BOX
array FILL[|SERIES|]
do for [i=1:|SERIES|] { FILL[i] = DASH[i] == 1 ? 3 : 3 + DASH[i] }
plot for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \
         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(get(SERIES[i], PANEL[p], 'mean')) \
         with boxes fs pattern FILL[i] border lc rgb COLOUR[i] fc rgb COLOUR[i], \
     for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \
         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(get(SERIES[i], PANEL[p], 'low'))\
         :(0):(column('high') - column('low')) with vectors nohead lw 1.5 lc rgb '#444444', \
     for [i=1:|SERIES|] keyentry with boxes fs pattern FILL[i] border lc rgb COLOUR[i] \
         fc rgb COLOUR[i] title SERIES[i], \
     for [k=1:PAPER] DATA using (at(number_of_panel(strcol(PANEL_COLUMN)), \
                    number_of_series(strcol(SERIES_COLUMN)))):(column('paper')) \
         with points pt 12 ps 1.2 lw 1.6 lc rgb 'black' title 'paper'
unset output
}
