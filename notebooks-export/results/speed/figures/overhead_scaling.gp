# Draws the .png and the .svg from the .csv beside it: gnuplot overhead_scaling.gp
NAME = 'overhead_scaling'
DATA = 'overhead_scaling.csv'
TITLE = 'fg-sfrql, preset clean: time of a training step against the sizes of the problem'
WIDTH = 1090
HEIGHT = 670
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'quantity'
array PANEL[6] = ['batch', 'tasks', 'tasks: GPI alone', 'hidden width', 'features', 'replay']
PANEL_WORD = ''
array SERIES[2] = ['training step', 'linear growth']
array COLOUR[2] = ['#0072B2', '#444444']
array XLABELS[6] = ['transitions per update', 'tasks, each with a policy', 'tasks, one update per step', 'units in each of two layers', 'features of each action', 'transitions stored']
array YLABELS[6] = ['step time / 0.91 ms', 'step time / 0.58 ms', 'step time / 0.57 ms', 'step time / 0.26 ms', 'step time / 1.95 ms', 'step time / 1.89 ms']
array XTICS[6] = ['16 64 256 1024 4096', '', '', '64 128 256 512 1024', '4 16 64 256', '1000 10000 50000 200000']
TOP = 256
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
    margins 1.0*(80)/WIDTH, 1-25.0/WIDTH, 105.0/HEIGHT, 1-62.0/HEIGHT \
    spacing 70.0/WIDTH, 78.0/HEIGHT
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    set xlabel XLABELS[p] offset 0,0.3
    set ylabel YLABELS[p]
    unset logscale
    N = words(XTICS[p])
    if (N) {
        set xrange [word(XTICS[p], 1)/1.3:word(XTICS[p], N)*1.3]
        set yrange [0.5:1.5*TOP]
        set logscale xy
        set xtics ()
        do for [x in XTICS[p]] { set xtics add (x real(x)) }
    } else {
        set xrange [0:*]
        set yrange [0:*]
        set xtics autofreq
    }
    plot for [i=|SERIES|:1:-1] DATA using \
             (get(SERIES[i], PANEL[p], 'x')):(column('ratio')) \
             with linespoints lw 3 - i pt (i == 1 ? 7 : -1) ps 0.8 dt i lc rgb COLOUR[i]
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
plot NaN notitle, for [i=1:|SERIES|] keyentry with lines lw 3 - i dt i lc rgb COLOUR[i] title SERIES[i]
unset multiplot
unset output
}
