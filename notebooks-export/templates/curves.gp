# Curves with bands, one panel each. MARK is the type of point at every value (-1: none); with
# PAPER = 1 the column paper holds values to mark.
LEFT = 90; GAP = 90; FOOT = 105
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
             with linespoints lw 2 dt DASH[i] pt MARK ps 0.8 lc rgb COLOUR[i], \
         for [k=1:PAPER] DATA using (is(PANEL_COLUMN, PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN)\
             :(column('paper')):(rgb(strcol(SERIES_COLUMN))) \
             with points pt 8 ps 1.2 lw 1.6 lc rgb variable
}
@legend@ with lines lw 2 dt DASH[i] lc rgb COLOUR[i] title SERIES[i], \
    for [k=1:PAPER] keyentry with points pt 8 ps 1.2 lw 1.6 lc rgb 'black' \
        title 'paper, end of task'
unset multiplot
