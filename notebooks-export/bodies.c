// The gnuplot bodies that several figures share. Each runs once per file format; names in capitals
// are defined at the top of the script by plot.c and by the figure that uses the body.
#include "export.h"

// clang-format off

// Room around the panels in pixels: `left` for labels, `foot` for the lowest label and the legend.
#define MULTIPLOT(left, gap, foot)                                                                 \
    "set multiplot layout ROWS,COLS title TITLE \\\n"                                              \
    "    margins 1.0*(" left ")/WIDTH, 1-25.0/WIDTH, " foot ".0/HEIGHT, 1-62.0/HEIGHT \\\n"        \
    "    spacing " gap ".0/WIDTH, 78.0/HEIGHT\n"

#define PANEL_TITLE                                                                                \
    "    set title PANEL_WORD.PANEL[p] offset 0,-0.7\n"

// The legend is a last, empty plot along the foot: a key inside a panel would be as narrow as it.
#define LEGEND                                                                                     \
    "reset\n"                                                                                      \
    "unset tics\n"                                                                                 \
    "unset border\n"                                                                               \
    "set lmargin at screen 0.02\n"                                                                 \
    "set rmargin at screen 0.98\n"                                                                 \
    "set bmargin at screen 0\n"                                                                    \
    "set tmargin at screen 50.0/HEIGHT\n"                                                          \
    "set xrange [0:1]\n"                                                                           \
    "set yrange [0:1]\n"                                                                           \
    "set key inside center center horizontal Left reverse samplen 2 width 2\n"                     \
    "plot NaN notitle, for [i=1:|SERIES|] keyentry "

#define LINES "with lines lw 2 lc rgb COLOUR[i] title SERIES[i]"

#define CURVES                                                                                     \
    "        plot for [i=1:|SERIES|] DATA using \\\n"                                              \
    "                 (get(SERIES[i], PANEL[p], XCOLUMN)/XSCALE)\\\n"                              \
    "                 :(get(SERIES[i], PANEL[p], 'low')):(get(SERIES[i], PANEL[p], 'high')) \\\n"  \
    "                 with filledcurves fc rgb COLOUR[i] fs transparent solid 0.18 noborder, \\\n" \
    "             for [i=1:|SERIES|] DATA using \\\n"                                              \
    "                 (get(SERIES[i], PANEL[p], XCOLUMN)/XSCALE)\\\n"                              \
    "                 :(get(SERIES[i], PANEL[p], 'mean')) \\\n"                                    \
    "                 with linespoints lw 2 pt MARK ps 0.8 lc rgb COLOUR[i]"

// Curves with bands, one panel each: XCOLUMN, XSCALE, XLABEL, YLABEL, LOGX, LOGY, MARK = the type
// of point at every value (-1: none), and PAPER = 1 when the column paper holds values to mark.
const char body_curves[] =
    MULTIPLOT("90", "90", "105")
    "if (LOGX) { set logscale x }\n"
    "if (LOGY) { set logscale y; set format y '%g' }\n"
    "set xlabel XLABEL offset 0,0.3\n"
    "set ylabel YLABEL\n"
    "do for [p=1:|PANEL|] {\n"
    PANEL_TITLE
    "    if (PAPER) {\n"
    CURVES ", \\\n"
    "             DATA using (is(PANEL_COLUMN, PANEL[p]) ? column(XCOLUMN)/XSCALE : NaN)\\\n"
    "                 :(column('paper')):(rgb(strcol(SERIES_COLUMN))) \\\n"
    "                 with points pt 8 ps 1.2 lw 1.6 lc rgb variable\n"
    "    } else {\n"
    CURVES "\n"
    "    }\n"
    "}\n"
    "if (PAPER) {\n"
    LEGEND LINES ", \\\n"
    "    keyentry with points pt 8 ps 1.2 lw 1.6 lc rgb 'black' title 'paper, end of task'\n"
    "} else {\n"
    LEGEND LINES "\n"
    "}\n"
    "unset multiplot\n";

#define BARS                                                                                       \
    "    plot for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \\\n"                                \
    "             (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN)\\\n"                                  \
    "             :(get(SERIES[i], PANEL[p], 'mean')) with boxes fc rgb COLOUR[i], \\\n"           \
    "         for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \\\n"                                \
    "             (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(get(SERIES[i], PANEL[p], 'low'))\\\n"\
    "             :(0):(column('high') - column('low')) \\\n"                                      \
    "             with vectors nohead lw 1.5 lc rgb '#444444', \\\n"                               \
    "         for [i=1:|SERIES|] keyentry with boxes fc rgb COLOUR[i] title SERIES[i]"

// Bars in clusters, one cluster per panel name: XLABEL, YLABEL, PAPER as above.
const char body_bars[] =
    "set title TITLE\n"
    "set key at screen 0.5, screen 6.0/HEIGHT center bottom horizontal Left reverse samplen 2 \\\n"
    "    width 2 noautotitle\n"
    "set lmargin 10\n"
    "set bmargin at screen 100.0/HEIGHT\n"
    "set xlabel XLABEL offset 0,0.3\n"
    "set ylabel YLABEL\n"
    "set xrange [0.4:|PANEL| + 0.6]\n"
    "set yrange [*<0:0<*]\n"
    "set xtics scale 0 ()\n"
    "do for [p=1:|PANEL|] { set xtics add (tic(PANEL[p]) p) }\n"
    "set grid noxtics ytics\n"
    "set xzeroaxis lt 1 lc rgb '#444444'\n"
    "BOX = 0.84 / |SERIES|\n"
    "at(p, i) = p + (i - 0.5*(|SERIES| + 1)) * BOX\n"
    "number_of_series(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? i : 0))\n"
    "number_of_panel(s) = int(sum [p=1:|PANEL|] (s eq PANEL[p] ? p : 0))\n"
    "set boxwidth 0.88*BOX\n"
    "if (PAPER) {\n"
    BARS ", \\\n"
    "         DATA using (at(number_of_panel(strcol(PANEL_COLUMN)), \\\n"
    "                        number_of_series(strcol(SERIES_COLUMN)))):(column('paper')) \\\n"
    "             with points pt 12 ps 1.2 lw 1.6 lc rgb 'black' title 'paper'\n"
    "} else {\n"
    BARS "\n"
    "}\n";

// One row per series, a point with its interval: XLABELS per panel, LEFT pixels for the names,
// REFERENCE = 1 for an axis from 0 to 1 with a line at AT, ZERO = 1 to start the axis at 0.
const char body_intervals[] =
    "array TOP[|PANEL|]\n"
    "do for [p=1:|PANEL|] {\n"
    "    stats DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('high') : NaN) nooutput\n"
    "    TOP[p] = STATS_max\n"
    "}\n"
    MULTIPLOT("LEFT", "30", "60")
    "set yrange [0.4:|SERIES| + 0.6]\n"
    "do for [p=1:|PANEL|] {\n"
    PANEL_TITLE
    "    set xlabel XLABELS[p] offset 0,0.3\n"
    "    set format x (TOP[p] >= 5000 ? '%.0s%c' : '%g')\n"
    "    set ytics scale 0 ()\n"
    "    do for [i=1:|SERIES|] {\n"
    "        LABEL = p == 1 ? tic(SERIES[i]) : ''\n"
    "        AT_ROW = |SERIES| + 1 - i\n"
    "        set ytics add (LABEL AT_ROW)\n"
    "    }\n"
    "    if (ZERO) { set xrange [0:*] } else { set offsets graph 0.03, graph 0.03, 0, 0 }\n"
    "    if (REFERENCE) {\n"
    "        set arrow 1 from AT, graph 0 to AT, graph 1 nohead lc rgb '#444444' dt 2\n"
    "        set xrange [0:1.02]\n"
    "    }\n"
    "    plot for [i=1:|SERIES|] DATA using \\\n"
    "             (get(SERIES[i], PANEL[p], 'mean')):(|SERIES| + 1 - i)\\\n"
    "             :(get(SERIES[i], PANEL[p], 'low')):(get(SERIES[i], PANEL[p], 'high')) \\\n"
    "             with xerrorbars pt 7 ps 1.1 lw 2.2 lc rgb COLOUR[i]\n"
    "}\n"
    "unset multiplot\n";

// Points with intervals against a few x positions, joined by lines: XCOLUMN, XLABEL, YLABELS per
// panel. Series stand a little apart, so that intervals do not hide each other.
const char body_study[] =
    MULTIPLOT("80", "80", "105")
    "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\n"
    "set xlabel XLABEL offset 0,0.3\n"
    "do for [p=1:|PANEL|] {\n"
    PANEL_TITLE
    "    set ylabel YLABELS[p] offset 1,0\n"
    "    plot for [i=1:|SERIES|] DATA using \\\n"
    "             (get(SERIES[i], PANEL[p], XCOLUMN) + 0.2*(i - 1))\\\n"
    "             :(get(SERIES[i], PANEL[p], 'mean')):(get(SERIES[i], PANEL[p], 'low'))\\\n"
    "             :(get(SERIES[i], PANEL[p], 'high')) \\\n"
    "             with yerrorlines pt 7 ps 1 lw 2 lc rgb COLOUR[i]\n"
    "}\n"
    LEGEND LINES "\n"
    "unset multiplot\n";

// Growth with one quantity per panel, beside a thin line, the second series: XLABELS and YLABELS per
// panel, XTICS = the values of x on logarithmic axes up to TOP, or '' for linear axes.
const char body_scaling[] =
    MULTIPLOT("80", "70", "105")
    "do for [p=1:|PANEL|] {\n"
    PANEL_TITLE
    "    set xlabel XLABELS[p] offset 0,0.3\n"
    "    set ylabel YLABELS[p]\n"
    "    unset logscale\n"
    "    N = words(XTICS[p])\n"
    "    if (N) {\n"
    "        set xrange [word(XTICS[p], 1)/1.3:word(XTICS[p], N)*1.3]\n"
    "        set yrange [0.5:1.5*TOP]\n"
    "        set logscale xy\n"
    "        set xtics ()\n"
    "        do for [x in XTICS[p]] { set xtics add (x real(x)) }\n"
    "    } else {\n"
    "        set xrange [0:*]\n"
    "        set yrange [0:*]\n"
    "        set xtics autofreq\n"
    "    }\n"
    "    plot for [i=|SERIES|:1:-1] DATA using \\\n"
    "             (get(SERIES[i], PANEL[p], 'x')):(column('ratio')) \\\n"
    "             with linespoints lw 3 - i pt (i == 1 ? 7 : -1) ps 0.8 dt i lc rgb COLOUR[i]\n"
    "}\n"
    LEGEND "with lines lw 3 - i dt i lc rgb COLOUR[i] title SERIES[i]\n"
    "unset multiplot\n";

// Arrows in the free cells, coloured by the prior (series) that GPI picked; cells that the data do
// not hold are walls. GRID_ROWS and GRID_COLS are the map's size.
const char body_policy_map[] =
    MULTIPLOT("25", "25", "60")
    "unset tics\n"
    "unset grid\n"
    "unset border\n"
    "set size ratio -1\n"
    "set xrange [-0.6:GRID_COLS - 0.4]\n"
    "set yrange [GRID_ROWS - 0.4:-0.6]\n"
    "dx(a) = a == 0 ? -0.35 : a == 2 ? 0.35 : 0\n"
    "dy(a) = a == 1 ? -0.35 : a == 3 ? 0.35 : 0\n"
    "set object 1 rectangle from -0.5,-0.5 to GRID_COLS - 0.5,GRID_ROWS - 0.5 \\\n"
    "    fc rgb '#555555' fs solid noborder behind\n"
    "do for [p=1:|PANEL|] {\n"
    PANEL_TITLE
    "    plot DATA using (is(PANEL_COLUMN, PANEL[p]) ? column('col') : NaN):(column('row'))\\\n"
    "             :(0.48):(0.48) with boxxyerror fc rgb 'white' fs solid noborder, \\\n"
    "         DATA using \\\n"
    "             (is(PANEL_COLUMN, PANEL[p]) ? column('col') - dx(column('action')) : NaN)\\\n"
    "             :(column('row') - dy(column('action')))\\\n"
    "             :(2*dx(column('action'))):(2*dy(column('action')))\\\n"
    "             :(rgb(strcol(SERIES_COLUMN))) \\\n"
    "             with vectors head size 0.28,28,90 filled lw 1.6 lc rgb variable\n"
    "}\n"
    LEGEND "with lines lw 4 lc rgb COLOUR[i] title 'policy of task '.SERIES[i]\n"
    "unset multiplot\n";

// Paths in the plane, one panel per task, over the walls (rows of the series 'wall') and the marks
// (rows of the series 'mark') of the environment: XLABEL, YLABEL, TIC, and EPISODES to draw.
const char body_trajectories[] =
    MULTIPLOT("80", "70", "105")
    "set size ratio -1\n"
    "unset grid\n"
    "set xtics TIC\n"
    "set ytics TIC\n"
    "set xlabel XLABEL offset 0,0.3\n"
    "set ylabel YLABEL offset 1,0\n"
    "do for [p=1:|PANEL|] {\n"
    PANEL_TITLE
    "    plot DATA using (is('method', 'wall') ? column('x') : NaN):(column('y'))\\\n"
    "             :(0.5):(0.5) with boxxyerror fc rgb '#BBBBBB' fs solid noborder, \\\n"
    "         for [i=1:|SERIES|] for [k=1:EPISODES] DATA using \\\n"
    "             (column('episode') == k - 1 ? get(SERIES[i], PANEL[p], 'x') : NaN)\\\n"
    "             :(column('y')) with lines lw 1.4 lc rgb COLOUR[i], \\\n"
    "         for [i=1:|SERIES|] DATA using \\\n"
    "             (column('t') == 0 ? get(SERIES[i], PANEL[p], 'x') : NaN):(column('y')) \\\n"
    "             with points pt 6 ps 1.2 lw 1.6 lc rgb COLOUR[i], \\\n"
    "         DATA using (is('method', 'mark') ? column('x') : NaN):(column('y')) \\\n"
    "             with points pt 2 ps 1.3 lw 2 lc rgb 'black'\n"
    "}\n"
    LEGEND LINES ", \\\n"
    "    keyentry with points pt 6 ps 1.2 lw 1.6 lc rgb 'black' title 'start'\n"
    "unset multiplot\n";
