# Points with intervals against a few values of x, joined by lines. Series stand a little apart, so
# that intervals do not hide each other. With BARS, x counts the WORDS
# and bars stand side by side.
LEFT = 80; GAP = 80; FOOT = 105
@multiplot@
set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05
set xlabel XLABEL offset 0,0.3
if (LOGX) { set logscale x; set format x '%g' }
shifted(x, i) = LOGX ? x * 1.04**(i - 1) : x + SHIFT*(i - 1)
BOX = 0.84 / |SERIES|
if (BARS) {
    set offsets 0, 0, 0, 0
    set xrange [0.5:|WORDS| + 0.5]
    set yrange [*<0:0<*]
    set xtics scale 0 ()
    do for [k=1:|WORDS|] { set xtics add (tic(WORDS[k]) k) }
}
do for [p=1:|PANEL|] {
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    set ylabel YLABELS[p] offset 1,0
    if (BARS) {
        plot for [i=1:|SERIES|] DATA using \
             (get(SERIES[i], PANEL[p], XCOLUMN) + (i - 0.5*(|SERIES| + 1))*BOX)\
             :(get(SERIES[i], PANEL[p], 'mean')):(get(SERIES[i], PANEL[p], 'low'))\
             :(get(SERIES[i], PANEL[p], 'high')):(0.88*BOX) with boxerrorbars \
             fs pattern (DASH[i] == 1 ? 3 : 3 + DASH[i]) lc rgb COLOUR[i]
        continue
    }
    plot for [i=1:|SERIES|] DATA using (shifted(get(SERIES[i], PANEL[p], XCOLUMN), i))\
             :(get(SERIES[i], PANEL[p], 'mean')):(get(SERIES[i], PANEL[p], 'low'))\
             :(get(SERIES[i], PANEL[p], 'high')) \
             with yerrorlines pt (DASH[i] == 1 ? 7 : 6) ps 1 lw 2 dt DASH[i] lc rgb COLOUR[i]
}
@legend@ with lines lw 2 dt DASH[i] lc rgb COLOUR[i] title SERIES[i]
unset multiplot
