# Draws the .png and the .svg from the .csv beside it: gnuplot four_rooms_sf.lr.gp
NAME = 'four_rooms_sf.lr'
DATA = 'four_rooms_sf.lr.csv'
array YLABELS[6] = ['cumulative reward', 'discounted return', 'success', 'steps to the goal', 'final return', 'zero-shot return']
BARS = 0
array WORDS[5] = ['3e-5', '1e-4', '3e-4', '1e-3', '3e-3']
XCOLUMN = 'x'
XLABEL = 'sf.lr'
ROWS = 2
COLS = 3
SERIES_COLUMN = 'method'
PANEL_COLUMN = 'quantity'
PANEL_WORD = ''
array PANEL[6] = ['SF: cumulative reward', 'SF: discounted return', 'SF: success', 'SF: steps to the goal', 'SF: final return', 'SF: zero-shot return']
array SERIES[5] = ['full', 'mix', 'semi', 'semi-hard', 'semi-polyak']
array COLOUR[5] = ['#0072B2', '#009E73', '#56B4E9', '#000000', '#666666']
array DASH[5] = [1, 3, 2, 4, 5]
array POINT[5] = [7, 12, 6, 8, 10]
EXTRA = 0
TITLE = 'four_rooms (s1-sf): one setting varied, mean and 95 % interval, n = 1 to 5 seeds [few seeds]'
HEAD = 0
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
# that intervals do not hide each other. WORDS are the values where x counts them. A row without seeds
# breaks the line. With BARS there are bars side by side.
LEFT = 80; GAP = 80; FOOT = 105
known(s, p, column_name) = column('seeds') > 0 ? get(s, p, column_name) : NaN
stats DATA using (column(XCOLUMN)) nooutput
LEFTMOST = STATS_min - 0.08*(STATS_max - STATS_min)
RIGHTMOST = STATS_max + 0.08*(STATS_max - STATS_min)
array LOW[|PANEL|]
array HIGH[|PANEL|]
do for [p=1:|PANEL|] {
    stats DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('low') : NaN)\
        :(is(PANEL_COLUMN, PANEL[p]) ? column('high') : NaN) nooutput
    LOW[p] = STATS_min_x; HIGH[p] = STATS_max_y
    if (BARS) { LOW[p] = LOW[p] < 0 ? LOW[p] : 0; HIGH[p] = HIGH[p] > 0 ? HIGH[p] : 0 }
    if (strstrt(PANEL[p], 'success')) { LOW[p] = 0; HIGH[p] = 1 } # a share
    if (LOW[p] == HIGH[p]) { HIGH[p] = HIGH[p] + 0.5; LOW[p] = BARS ? LOW[p] : LOW[p] - 0.5 }
}
set multiplot layout ROWS,COLS title TITLE \
    margins 1.0*LEFT/WIDTH, 1-25.0/WIDTH, (FOOT + EXTRA + 0.0)/HEIGHT, 1-(62.0 + HEAD)/HEIGHT \
    spacing 1.0*GAP/WIDTH, 78.0/HEIGHT
set xlabel XLABEL offset 0,0.3
set xrange [LEFTMOST:RIGHTMOST]
APART = |SERIES| < 5 ? 0.012 : 0.06/|SERIES|
side(i) = APART*(i - 0.5*(|SERIES| + 1))
shifted(x, i) = x + (RIGHTMOST - LEFTMOST)*side(i)
BOX = 0.84 / |SERIES|
if (BARS) { set xrange [0.5:|WORDS| + 0.5] }
if (exists('WORDS')) {
    set xtics scale 0 ()
    do for [k=1:|WORDS|] { set xtics add (tic(WORDS[k]) k) }
}
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    set ylabel YLABELS[p] offset 1,0
    PAD = 0.06*(HIGH[p] - LOW[p])
    set yrange [LOW[p] - (BARS && LOW[p] == 0 ? 0 : PAD):HIGH[p] + PAD]
    if (BARS) {
        plot for [i=1:|SERIES|] DATA using \
             (get(SERIES[i], PANEL[p], XCOLUMN) + (i - 0.5*(|SERIES| + 1))*BOX)\
             :(get(SERIES[i], PANEL[p], 'mean')):(get(SERIES[i], PANEL[p], 'low'))\
             :(get(SERIES[i], PANEL[p], 'high')):(0.88*BOX) with boxerrorbars \
             fs pattern (DASH[i] == 1 ? 3 : 3 + DASH[i]) lc rgb COLOUR[i]
        continue
    }
    plot for [i=1:|SERIES|] DATA using (shifted(get(SERIES[i], PANEL[p], XCOLUMN), i))\
             :(known(SERIES[i], PANEL[p], 'mean')):(known(SERIES[i], PANEL[p], 'low'))\
             :(known(SERIES[i], PANEL[p], 'high')) \
             with yerrorlines pt POINT[i] ps 1 lw 2 dt DASH[i] lc rgb COLOUR[i]
}
array FILL[|SERIES|]
do for [i=1:|SERIES|] { FILL[i] = DASH[i] == 1 ? 3 : 3 + DASH[i] }
if (BARS) {
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
plot NaN notitle, for [i=1:|SERIES|] keyentry with boxes fs pattern FILL[i] lc rgb COLOUR[i] title SERIES[i]
} else {
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
plot NaN notitle, for [i=1:|SERIES|] keyentry with linespoints lw 2 dt DASH[i] pt POINT[i] lc rgb COLOUR[i] title SERIES[i]
}
unset multiplot
unset output
}
