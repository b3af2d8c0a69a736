import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

TEXT = {c: str for c in ('method', 'task', 'quantity', 'prior', 'kind', 'mark')}
DASHES = {1: '-', 2: '--', 3: ':', 4: '-.', 5: (0, (4, 1, 1, 1, 1, 1))}


def load(name):
    """A figure's data, and what is defined at the top of its gnuplot script."""
    data = pd.read_csv(f'figures/{name}.csv', dtype=TEXT)
    define = {}
    for line in Path(f'figures/{name}.gp').read_text(encoding='utf-8').splitlines():
        found = re.match(r'(array )?(\w+)(?:\[\d+\])? = (.*)$', line)
        if not found:
            if define and not line.startswith('#'):
                break
            continue
        quoted = re.findall(r"'((?:[^']|'')*)'", found[3])
        texts = [text.replace("''", "'") for text in quoted]
        numbers = [float(x) for x in found[3].strip('[]').split(',')] if not texts else []
        define[found[2]] = (texts or numbers) if found[1] else (texts or numbers)[0]
    return data, define


def panels(define):
    """One empty chart per panel, titled and sized as in the gnuplot figure."""
    rows, columns = int(define['ROWS']), int(define['COLS'])
    size = define['WIDTH'] / 90, define['HEIGHT'] / 90
    figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=size,
                                layout='constrained')
    figure.suptitle(define['TITLE'], fontsize=10)
    for axis in axes.flat[len(define['PANEL']):]:
        axis.set_axis_off()
    for axis, panel in zip(axes.flat, define['PANEL']):
        axis.set_title(define['PANEL_WORD'] + panel, fontsize=9)
        axis.spines[['top', 'right']].set_visible(False)
    return figure, list(zip(axes.flat, define['PANEL']))


def series(data, define, panel):
    """Name, look and rows of every series in one panel."""
    inside = data[data[define['PANEL_COLUMN']] == panel]
    for name, colour, dash in zip(define['SERIES'], define['COLOUR'], define['DASH']):
        look = {'color': colour, 'ls': DASHES[dash]}
        yield name, look, inside[inside[define['SERIES_COLUMN']] == name]


def legend(figure, axis):
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc='upper center', bbox_to_anchor=(0.5, 0), ncols=4,
                  fontsize=8, frameon=False)


def curves(name):
    data, define = load(name)
    mark = 'o' if define['MARK'] > 0 else ''
    figure, charts = panels(define)
    for axis, panel in charts:
        for label, look, rows in series(data, define, panel):
            x = rows[define['XCOLUMN']] / define['XSCALE']
            axis.plot(x, rows['mean'], **look, label=label, marker=mark)
            axis.fill_between(x, rows['low'], rows['high'], color=look['color'], alpha=0.18, lw=0)
            if define['PAPER']:
                axis.plot(x, rows['paper'], '^', color=look['color'], mfc='none')
        axis.set(xlabel=define['XLABEL'], ylabel=define['YLABELS'][0])
        if define['LOGX']:
            axis.set_xscale('log')
        if define['LOGY']:
            axis.set_yscale('log')
    if define['PAPER']:
        charts[0][0].plot([], [], 'k^', mfc='none', label='paper, end of task')
    legend(figure, charts[0][0])


def bars(name):
    data, define = load(name)
    figure, axis = plt.subplots(figsize=(define['WIDTH'] / 90, 5), layout='constrained')
    figure.suptitle(define['TITLE'], fontsize=10)
    box = 0.84 / len(define['SERIES'])
    for p, panel in enumerate(define['PANEL']):
        for i, (label, look, rows) in enumerate(series(data, define, panel)):
            hatch = '' if look['ls'] == '-' else '///'
            x = [p + (i - (len(define['SERIES']) - 1) / 2) * box] * len(rows)
            axis.bar(x, rows['mean'], 0.88 * box, color='white' if hatch else look['color'],
                     edgecolor=look['color'], hatch=hatch, label=None if p else label)
            axis.vlines(x, rows['low'], rows['high'], color='#666666')
            if define['PAPER']:
                axis.plot(x, rows['paper'], 'kD', mfc='none', ms=5)
    if define['PAPER']:
        axis.plot([], [], 'kD', mfc='none', ms=5, label='paper')
    axis.set_xticks(range(len(define['PANEL'])), define['PANEL'])
    axis.set(xlabel=define['XLABEL'], ylabel=define['YLABEL'])
    axis.axhline(0, color='#444444', lw=0.8)
    legend(figure, axis)


def intervals(name):
    data, define = load(name)
    figure, charts = panels(define)
    names = define['SERIES']
    for k, (axis, panel) in enumerate(charts):
        for i, (label, look, rows) in enumerate(series(data, define, panel)):
            axis.hlines([-i] * len(rows), rows['low'], rows['high'], color=look['color'], lw=2)
            axis.plot(rows['mean'], [-i] * len(rows), 'o', color=look['color'],
                      mfc=look['color'] if look['ls'] == '-' else 'white')
        first = k % int(define['COLS']) == 0
        axis.set_yticks([-i for i in range(len(names))], names if first else [''] * len(names))
        axis.set(xlabel=define['XLABELS'][k])
        axis.grid(color='#E6E6E6')
        if define['ZERO'] < 0:
            axis.axvline(0, color='#444444', ls='--', lw=1)
        elif define['ZERO'] > 0:
            axis.set_xlim(left=0)


def study(name):
    data, define = load(name)
    figure, charts = panels(define)
    for k, (axis, panel) in enumerate(charts):
        box = 0.84 / len(define['SERIES'])
        for i, (label, look, rows) in enumerate(series(data, define, panel)):
            error = [rows['mean'] - rows['low'], rows['high'] - rows['mean']]
            if define['BARS']:
                x = rows['x'] + (i - (len(define['SERIES']) - 1) / 2) * box
                axis.bar(x, rows['mean'], 0.88 * box, yerr=error, color=look['color'], label=label)
                axis.set_xticks(range(1, len(define['WORDS']) + 1), define['WORDS'])
                continue
            axis.errorbar(rows[define['XCOLUMN']], rows['mean'], error, **look,
                          marker='o', capsize=3, label=label)
        if define['LOGX']:
            axis.set_xscale('log')
        axis.set(xlabel=define['XLABEL'], ylabel=define['YLABELS'][k])
    legend(figure, charts[0][0])


def scaling(name):
    data, define = load(name)
    figure, charts = panels(define)
    for k, (axis, panel) in enumerate(charts):
        for (label, look, rows), mark in zip(series(data, define, panel), ('o', '')):
            axis.plot(rows['x'], rows['ratio'], **look, marker=mark, label=label)
        axis.set(xlabel=define['XLABELS'][k], ylabel=define['YLABELS'][k])
        values = define['XTICS'][k].split()
        if values:
            axis.set(xscale='log', yscale='log', ylim=(0.5, 1.5 * define['TOP']))
            axis.set_xticks([float(x) for x in values], values)
            axis.minorticks_off()
        else:
            axis.set(xlim=0, ylim=0)
    legend(figure, charts[0][0])


def policy_map(name):
    data, define = load(name)
    figure, charts = panels(define)
    dx = data['action'].map({0: -1, 2: 1}).fillna(0)
    dy = data['action'].map({1: -1, 3: 1}).fillna(0)
    for axis, panel in charts:
        axis.set_facecolor('#555555')
        free = data[data['task'] == panel]
        size = 72 * 0.8 * define['WIDTH'] / 90 / define['COLS'] / define['GRID_COLS']
        axis.scatter(free['col'], free['row'], marker='s', s=size**2, color='white', lw=0)
        marks = free[free['mark'].notna()]
        axis.scatter(marks['col'], marks['row'], s=size**2 / 2, color='#F0E442', lw=0)
        for col, row, mark in zip(marks['col'], marks['row'], marks['mark']):
            axis.text(col + 0.2, row + 0.22, mark, fontsize=5)
        for label, look, rows in series(data, define, panel):
            axis.quiver(rows['col'], rows['row'], dx[rows.index], -dy[rows.index],
                        pivot='mid', scale=1.4, scale_units='x', width=0.008,
                        color=look['color'], label=f'policy of task {label}')
        axis.set(aspect='equal', xticks=[], yticks=[])
        axis.set_xlim(-0.5, define['GRID_COLS'] - 0.5)
        axis.set_ylim(define['GRID_ROWS'] - 0.5, -0.5)
    legend(figure, charts[0][0])


def trajectories(name):
    data, define = load(name)
    figure, charts = panels(define)
    walls, marks = data[data['method'] == 'wall'], data[data['method'] == 'mark']
    for axis, panel in charts:
        for x, y in zip(walls['x'], walls['y']):
            axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, color='#BBBBBB', lw=0))
        for label, look, rows in series(data, define, panel):
            for k, (_, path) in enumerate(rows.groupby('episode')):
                axis.plot(path['x'], path['y'], **look, label=None if k else label)
            start = rows[rows['t'] == 0]
            axis.plot(start['x'], start['y'], 'o', color=look['color'], mfc='none')
        axis.plot(marks['x'], marks['y'], 'x', color='#666666')
        goals = data[(data['method'] == 'goal') & (data['task'] == panel)]
        axis.plot(goals['x'], goals['y'], 'k*', ms=10)
        axis.set(xlabel=define['XLABEL'], ylabel=define['YLABEL'], aspect='equal',
                 xlim=(define['LOW_X'], define['HIGH_X']), ylim=(define['LOW_Y'], define['HIGH_Y']))
    legend(figure, charts[0][0])
