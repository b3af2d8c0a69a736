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
@multiplot@
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
