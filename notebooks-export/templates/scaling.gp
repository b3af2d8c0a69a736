# Growth with one quantity per panel, beside a thin line, the second series. XTICS lists the values of
# x on logarithmic axes up to TOP, or is '' for linear axes.
LEFT = 80; GAP = 70; FOOT = 105
@multiplot@
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
    plot for [i=|SERIES|:1:-1] DATA using (get(SERIES[i], PANEL[p], 'x')):(column('ratio')) \
             with linespoints lw 3 - i pt (i == 1 ? 7 : -1) ps 0.8 dt DASH[i] lc rgb COLOUR[i]
}
@legend@ with lines lw 3 - i dt DASH[i] lc rgb COLOUR[i] title SERIES[i]
unset multiplot
