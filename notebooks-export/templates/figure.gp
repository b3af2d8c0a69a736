# A column's value in the rows of one series and panel; undefined, so not drawn, in all others.
is(column_name, value) = strcol(column_name) eq value
in(s, p) = is(SERIES_COLUMN, s) && is(PANEL_COLUMN, p)
get(s, p, column_name) = in(s, p) ? column(column_name) : NaN
hex(colour) = int('0x'.colour[2:7])
rgb(s) = int(sum [i=1:|SERIES|] (s eq SERIES[i] ? hex(COLOUR[i]) : 0))
# gnuplot takes the names on an axis for formats, so their % is doubled.
tic(s) = strstrt(s, '%') \
    ? s[1:strstrt(s, '%')].'%'.tic(s[strstrt(s, '%')+1:*]) : s

do for [EXT in 'png svg'] {
reset
if (EXT eq 'png') {
    set terminal pngcairo size WIDTH,HEIGHT font 'DejaVu Sans,10' noenhanced \
        dashlength 0.6
} else {
    set terminal svg size WIDTH,HEIGHT font 'DejaVu Sans,12' noenhanced \
        background rgb 'white' dashlength 0.6
}
set output NAME.'.'.EXT
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile missing ''
set tics nomirror scale 0.5
set border 3 lc rgb '#444444'
set grid lc rgb '#E6E6E6' lt 1 lw 1
set style fill solid 1 noborder
unset key
@BODY@
unset output
}
