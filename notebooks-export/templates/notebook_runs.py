import fgsf


def finished(what, *keys):
    """Finished runs, with columns for the method with its cell, and the environment with its layout."""
    runs = fgsf.runs(RUNS, what, config=('env.layout', *keys))
    runs = runs[runs['status'] == 'done'].astype({'cell': str, 'env.layout': str, 'task': str})
    return runs.assign(arm=(runs['method'] + '@' + runs['cell']).str.rstrip('@'),
                       env=(runs['env'] + ' ' + runs['env.layout']).str.rstrip())


def curves(env, runs, column='cum_reward'):
    """A chart for each task: the mean over seeds, with its standard error."""
    tasks = sorted(runs['task'].unique())
    lines = -(-len(tasks) // 3)
    grid, axes = plt.subplots(lines, 3, squeeze=False, figsize=(11, 3 * lines), layout='constrained')
    grid.suptitle(env)
    for axis in axes.flat[len(tasks):]:
        axis.set_axis_off()
    for axis, task in zip(axes.flat, tasks):
        for arm, rows in runs[runs['task'] == task].groupby('arm'):
            seeds = rows.groupby('task_step')[column]
            mean, error = seeds.mean(), seeds.sem().fillna(0)
            axis.plot(mean.index, mean, label=arm)
            axis.fill_between(mean.index, mean - error, mean + error, alpha=0.2, lw=0)
        axis.set(title=f'task {task}', xlabel='step of the task', ylabel=column)
        axis.spines[['top', 'right']].set_visible(False)
    grid.legend(*axes.flat[0].get_legend_handles_labels(), loc='upper center',
                bbox_to_anchor=(0.5, 0), ncols=4, frameon=False)


train = finished('train')
evaluation = finished('eval', 'eval.reward', 'eval.epsilon')
own = evaluation['reward_model'] == evaluation['eval.reward']
evaluation = evaluation[own & (evaluation['epsilon'] == evaluation['eval.epsilon'])]
