// The gnuplot bodies that several figures share. Each runs once per file format; names in capitals
// are defined at the top of the script by plot.c and by the figure that uses the body.
#include "export.h"

// Room around the panels in pixels: labels left and below, the title above, the legend at the foot.
#define MULTIPLOT(left, gap)                                                                       \
    "set multiplot layout ROWS,COLS title TITLE \\\n"                                              \
    "    margins 1.0*(" left ")/WIDTH, 1-25.0/WIDTH, 100.0/HEIGHT, 1-62.0/HEIGHT \\\n"             \
    "    spacing " gap ".0/WIDTH, 78.0/HEIGHT\n"
#define LEGEND                                                                                     \
    "set key at screen 0.5, screen 6.0/HEIGHT center bottom horizontal Left reverse maxrows 3 "    \
    "width 1\n"

// Curves with bands, one panel each: XCOLUMN, XSCALE, XLABEL, YLABEL, LOGX, LOGY, and PAPER = 1
// when the column paper holds values to mark.
const char body_curves[] = MULTIPLOT("80", "80") LEGEND
    "if (LOGX) { set logscale x } else { unset logscale x }\n"
    "if (LOGY) { set logscale y; set format y '%g' } else { unset logscale y }\n"
    "do for [p=1:|PANEL|] {\n"
    "    set title PANEL_WORD.PANEL[p] offset 0,-0.7\n"
    "    set xlabel XLABEL offset 0,0.3\n"
    "    set ylabel YLABEL offset 1,0\n"
    "    plot for [i=1:|SERIES|] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN)\\\n"
    "             :(column('low')):(column('high')) \\\n"
    "             with filledcurves fc rgb COLOUR[i] fs transparent solid 0.18 noborder, \\\n"
    "         for [i=1:|SERIES|] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN):(column('mean')) \\\n"
    "             with lines lw 2 lc rgb COLOUR[i] title SERIES[i], \\\n"
    "         for [k=1:PAPER] for [i=1:|SERIES|] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN):(column('paper')) \\\n"
    "             with points pt 8 ps 1.1 lw 1.5 lc rgb COLOUR[i], \\\n"
    "         for [k=1:PAPER] keyentry with points pt 8 ps 1.1 lw 1.5 lc rgb 'black' \\\n"
    "             title 'paper, end of task'\n"
    "    unset key\n"
    "}\n"
    "unset multiplot\n";

// Bars in clusters, one cluster per panel name: XLABEL, YLABEL, PAPER as above.
const char body_bars[] =
    "set title TITLE\n"
    "set key bottom center outside horizontal Left reverse maxrows 3 width 1\n"
    "set lmargin 10\n"
    "set xlabel XLABEL\n"
    "set ylabel YLABEL\n"
    "set xrange [0.4:|PANEL| + 0.6]\n"
    "set xtics scale 0 ()\n"
    "do for [p=1:|PANEL|] { set xtics add (PANEL[p] p) }\n"
    "set grid noxtics ytics\n"
    "set xzeroaxis lt 1 lc rgb '#444444'\n"
    "BOX = 0.84 / |SERIES|\n"
    "at(p, i) = p + (i - 0.5*(|SERIES| + 1)) * BOX\n"
    "set boxwidth 0.88*BOX\n"
    "plot for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \\\n"
    "         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(column('mean')) \\\n"
    "         with boxes fc rgb COLOUR[i], \\\n"
    "     for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \\\n"
    "         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN)\\\n"
    "         :(column('mean')):(column('low')):(column('high')) \\\n"
    "         with yerrorbars pt 0 lw 1.2 lc rgb '#666666', \\\n"
    "     for [k=1:PAPER] for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \\\n"
    "         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(column('paper')) \\\n"
    "         with points pt 12 ps 1.0 lw 1.5 lc rgb 'black', \\\n"
    "     for [i=1:|SERIES|] keyentry with boxes fc rgb COLOUR[i] title SERIES[i], \\\n"
    "     for [k=1:PAPER] keyentry with points pt 12 ps 1.0 lw 1.5 lc rgb 'black' \\\n"
    "         title 'paper'\n";

// One row per series, a point with its interval: XLABELS per panel, LEFT pixels for the names,
// REFERENCE = 1 for a line at AT, ZERO = 1 to start the axis at 0.
const char body_intervals[] = MULTIPLOT(
    "LEFT",
    "30") "set yrange [0.4:|SERIES| + 0.6]\n"
          "set grid xtics ytics\n"
          "do for [p=1:|PANEL|] {\n"
          "    set title PANEL_WORD.PANEL[p] offset 0,-0.7\n"
          "    set xlabel XLABELS[p] offset 0,0.3\n"
          "    set ytics scale 0 ()\n"
          "    do for [i=1:|SERIES|] {\n"
          "        LABEL = p % COLS == 1 || COLS == 1 ? SERIES[i] : ''\n"
          "        AT_ROW = |SERIES| + 1 - i\n"
          "        set ytics add (LABEL AT_ROW)\n"
          "    }\n"
          "    if (ZERO) { set xrange [0:*] } else { set xrange [*:*] }\n"
          "    if (REFERENCE) { set arrow 1 from AT, graph 0 to AT, graph 1 nohead ls 1; "
          "set xrange [0:1] }\n"
          "    plot for [i=1:|SERIES|] DATA using \\\n"
          "             (in(SERIES[i], PANEL[p]) ? column('mean') : NaN):(|SERIES| + 1 - i)\\\n"
          "             :(column('low')):(column('high')) \\\n"
          "             with xerrorbars pt 7 ps 1.1 lw 2.2 lc rgb COLOUR[i]\n"
          "}\n"
          "unset multiplot\n";

// Points with intervals against a few x positions, joined by lines: XCOLUMN, XLABEL, YLABELS per
// panel.
const char body_study[] = MULTIPLOT("80", "80") LEGEND
    "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\n"
    "do for [p=1:|PANEL|] {\n"
    "    set title PANEL_WORD.PANEL[p] offset 0,-0.7\n"
    "    set xlabel XLABEL offset 0,0.3\n"
    "    set ylabel YLABELS[p] offset 1,0\n"
    "    plot for [i=1:|SERIES|] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) ? column(XCOLUMN) + 0.15*(i - 1) : NaN)\\\n"
    "             :(column('mean')):(column('low')):(column('high')) \\\n"
    "             with yerrorlines pt 7 ps 1 lw 2 lc rgb COLOUR[i] title SERIES[i]\n"
    "    unset key\n"
    "}\n"
    "unset multiplot\n";

// Arrows in the free cells, coloured by the prior (series) that GPI picked; cells that the data do
// not hold are walls. GRID_ROWS and GRID_COLS are the map's size.
const char body_policy_map[] = MULTIPLOT("25", "25") LEGEND
    "unset tics\n"
    "unset grid\n"
    "unset border\n"
    "set size ratio -1\n"
    "set xrange [-0.6:GRID_COLS - 0.4]\n"
    "set yrange [GRID_ROWS - 0.4:-0.6]\n"
    "dx(a) = a == 0 ? -0.35 : a == 2 ? 0.35 : 0\n"
    "dy(a) = a == 1 ? -0.35 : a == 3 ? 0.35 : 0\n"
    "set object 1 rectangle from -0.5,-0.5 to GRID_COLS - 0.5,GRID_ROWS - 0.5 "
    "fc rgb '#555555' fs solid noborder behind\n"
    "do for [p=1:|PANEL|] {\n"
    "    set title PANEL_WORD.PANEL[p] offset 0,-0.7\n"
    "    plot DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('col') : NaN):(column('row'))\\\n"
    "             :(0.48):(0.48) with boxxyerror fc rgb 'white' fs solid noborder, \\\n"
    "         for [i=1:|SERIES|] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) ? column('col') - dx(column('action')) : NaN)\\\n"
    "             :(column('row') - dy(column('action')))\\\n"
    "             :(2*dx(column('action'))):(2*dy(column('action'))) \\\n"
    "             with vectors head size 0.28,28,90 filled lw 1.6 lc rgb COLOUR[i], \\\n"
    "         for [i=1:|SERIES|] keyentry with lines lw 4 lc rgb COLOUR[i] \\\n"
    "             title 'policy of task '.SERIES[i]\n"
    "    unset key\n"
    "}\n"
    "unset multiplot\n";

// Paths in the plane, one panel per task, over the walls (rows of the series 'wall') and the marks
// (rows of the series 'mark') of the environment.
const char body_trajectories[] = MULTIPLOT("80", "70") LEGEND
    "set size ratio -1\n"
    "unset grid\n"
    "do for [p=1:|PANEL|] {\n"
    "    set title PANEL_WORD.PANEL[p] offset 0,-0.7\n"
    "    set xlabel XLABEL offset 0,0.3\n"
    "    set ylabel YLABEL offset 1,0\n"
    "    plot DATA using (is('method', 'wall') ? column('x') : NaN):(column('y'))\\\n"
    "             :(0.5):(0.5) with boxxyerror fc rgb '#BBBBBB' fs solid noborder, \\\n"
    "         for [i=1:|SERIES|] for [k=1:EPISODES] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) && column('episode') == k - 1 ? column('x') : NaN)\\\n"
    "             :(column('y')) with lines lw 1.6 lc rgb COLOUR[i], \\\n"
    "         for [i=1:|SERIES|] DATA using \\\n"
    "             (in(SERIES[i], PANEL[p]) && column('t') == 0 ? column('x') : NaN)\\\n"
    "             :(column('y')) with points pt 6 ps 1.2 lw 1.6 lc rgb COLOUR[i], \\\n"
    "         DATA using (is('method', 'mark') ? column('x') : NaN):(column('y')) \\\n"
    "             with points pt 2 ps 1.3 lw 2 lc rgb 'black', \\\n"
    "         for [i=1:|SERIES|] keyentry with lines lw 2 lc rgb COLOUR[i] title SERIES[i], \\\n"
    "         keyentry with points pt 6 ps 1.2 lw 1.6 lc rgb 'black' title 'start'\n"
    "    unset key\n"
    "}\n"
    "unset multiplot\n";
