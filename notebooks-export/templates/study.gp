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
@multiplot@
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
@legend@ with boxes fs pattern FILL[i] lc rgb COLOUR[i] title SERIES[i]
} else {
@legend@ with linespoints lw 2 dt DASH[i] pt POINT[i] lc rgb COLOUR[i] title SERIES[i]
}
unset multiplot
