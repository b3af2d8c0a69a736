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
plot NaN notitle, for [i=1:|SERIES|] keyentry
