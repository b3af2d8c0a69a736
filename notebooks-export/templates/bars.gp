# Bars in clusters, one cluster per panel name; with PAPER = 1 the column paper holds values to mark.
# Full gradients are filled, semi-gradients hatched, so that grey print tells them apart.
set title TITLE
set key at screen 0.5, screen 6.0/HEIGHT center bottom horizontal Left reverse samplen 2 \
    width 2 noautotitle
set lmargin 10
set bmargin at screen (100.0 + EXTRA)/HEIGHT
set xlabel XLABEL offset 0,0.3
set ylabel YLABEL
set xrange [0.4:|PANEL| + 0.6]
set yrange [*<0:0<*]
set xtics scale 0 ()
do for [p=1:|PANEL|] { set xtics add (tic(PANEL[p]) p) }
set grid noxtics ytics
set xzeroaxis lt 1 lc rgb '#444444'
BOX = 0.84 / |SERIES|
at(p, i) = p + (i - 0.5*(|SERIES| + 1)) * BOX
number_of_series(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? i : 0))
number_of_panel(s) = int(sum [p=1:|PANEL|] (s eq PANEL[p] ? p : 0))
set boxwidth 0.88*BOX
array FILL[|SERIES|]
do for [i=1:|SERIES|] { FILL[i] = DASH[i] == 1 ? 3 : 3 + DASH[i] }
plot for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \
         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(get(SERIES[i], PANEL[p], 'mean')) \
         with boxes fs pattern FILL[i] border lc rgb COLOUR[i] fc rgb COLOUR[i], \
     for [i=1:|SERIES|] for [p=1:|PANEL|] DATA using \
         (in(SERIES[i], PANEL[p]) ? at(p, i) : NaN):(get(SERIES[i], PANEL[p], 'low'))\
         :(0):(column('high') - column('low')) with vectors nohead lw 1.5 lc rgb '#444444', \
     for [i=1:|SERIES|] keyentry with boxes fs pattern FILL[i] border lc rgb COLOUR[i] \
         fc rgb COLOUR[i] title SERIES[i], \
     for [k=1:PAPER] DATA using (at(number_of_panel(strcol(PANEL_COLUMN)), \
                    number_of_series(strcol(SERIES_COLUMN)))):(column(PAPER ? 'paper' : 'mean')) \
         with points pt 12 ps 1.2 lw 1.6 lc rgb 'black' title 'paper'
