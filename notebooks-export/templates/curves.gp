# Curves with bands, one panel each. With MARK > 0 every value is a point; else a few points along each
# curve tell it from the others in grey. With PAPER = 1 the column paper holds values to mark;
# with 0 gnuplot draws no marks but looks at the data for them once.
LEFT = 90; GAP = 90; FOOT = 105
# Rows of one curve, of which every sixth or so gets a point.
stats DATA using (in(SERIES[1], PANEL[1]) ? 1 : NaN) nooutput
EVERY = MARK > 0 || STATS_records < 12 ? 1 : int(STATS_records / 6)
@multiplot@
if (LOGX) { set logscale x; set format x '%g' }
if (LOGY) { set logscale y; set format y '%g' }
set xlabel XLABEL offset 0,0.3
do for [p=1:|PANEL|] {
    set ylabel YLABELS[p]
    set title PANEL_WORD.PANEL[p] offset 0,-0.7
    plot for [i=1:|SERIES|] DATA using (get(SERIES[i], PANEL[p], XCOLUMN)/XSCALE)\
             :(get(SERIES[i], PANEL[p], 'low')):(get(SERIES[i], PANEL[p], 'high')) \
             with filledcurves fc rgb COLOUR[i] fs transparent solid 0.18 noborder, \
         for [i=1:|SERIES|] DATA using (get(SERIES[i], PANEL[p], XCOLUMN)/XSCALE)\
             :(get(SERIES[i], PANEL[p], 'mean')) \
             with linespoints lw 2 dt DASH[i] pt POINT[i] ps 0.9 pi EVERY lc rgb COLOUR[i], \
         for [k=1:PAPER] DATA using (is(PANEL_COLUMN, PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN)\
             :(column(PAPER ? 'paper' : 'mean')):(rgb(strcol(SERIES_COLUMN))) \
             with points pt 8 ps 1.2 lw 1.6 lc rgb variable
}
@legend@ with linespoints lw 2 dt DASH[i] pt POINT[i] ps 0.9 lc rgb COLOUR[i] title SERIES[i], \
    for [k=1:PAPER] keyentry with points pt 8 ps 1.2 lw 1.6 lc rgb 'black' \
        title 'paper, end of task'
unset multiplot
