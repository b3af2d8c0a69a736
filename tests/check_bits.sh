#!/usr/bin/env bash
# The numbers of a run do not change, bit for bit. Small runs of every method and preset, and of the
# settings that the presets do not use, must give the hashes in golden/bits.csv. bits.py says what is
# hashed.
#
#   tests/check_bits.sh            compare (FGSF_BUILD: the build folder, else build)
#   tests/check_bits.sh --write    write golden/bits.csv, after a change that should change numbers
#
# The hashes hold on x86-64 with AVX2 or AVX-512, with the pinned ggml and MuJoCo 2.2.2.
set -euo pipefail

# One line per driver: NAME DRIVER FLAGS... KEY=VALUE... ALL is put before the settings of every line,
# SMALL too, but not for the ablation, whose cells set these keys themselves.
ALL='net.hidden=24,16 train.batch_size=16 train.steps_per_task=600 train.log_every=100
    train.horizon=60 diag.residual_batch=16 eval.episodes=2 eval.horizon=30'
SMALL='env.num_tasks=3 target.period=50'
MUJOCO='train.steps_per_task=150 train.log_every=30' # these environments are slower
MAP='env.map=map'                                    # a small one, with a reward every few steps
N5='avg.n=5+env.slip=0.1'
SLIPS="--cells plain+avg.n=1+env.slip=0,shared+$N5,critic_only+$N5,split+$N5"
SF="four_rooms --methods sfrql,fg-sfrql $MAP"
FG="four_rooms --methods fg-sfrql $MAP"
AVERAGE="four_rooms --methods fg-sfrql-average $MAP"
DQN="four_rooms --methods dqn,fg-dqn $MAP"

runs="
four_rooms-clean      four_rooms --preset clean
four_rooms-compat     four_rooms --preset compat
four_rooms-paper      four_rooms --preset paper
averaging-clean       averaging --preset clean $SLIPS $MAP
averaging-compat      averaging --preset compat $SLIPS $MAP
averaging-paper       averaging --preset paper $SLIPS $MAP sf.lr=1e-4 sf.lr_prior=1e-4
reacher-clean         reacher --preset clean $MUJOCO
reacher-compat        reacher --preset compat $MUJOCO
reacher-paper         reacher --preset paper $MUJOCO
point_maze-clean      point_maze --preset clean $MUJOCO
point_maze-compat     point_maze --preset compat $MUJOCO
point_maze-paper      point_maze --preset paper $MUJOCO
ablation              gradient_ablation $MAP train.steps_per_task=120

wide                  four_rooms $MAP net.hidden=256,256 train.batch_size=64 train.steps_per_task=90
wide-compat           four_rooms --preset compat $MAP net.hidden=128,128 train.batch_size=64 train.steps_per_task=90
deep-odd              $FG net.hidden=33,7,18 train.batch_size=13
silu                  $SF net.activation=silu
no-bias               $FG net.bias=false
init-uniform          $FG net.init=uniform_fan_in
sgd                   $SF opt.kind=sgd opt.grad_clip=0
sgd-clip              $FG opt.kind=sgd opt.grad_clip=0.01
sgd_rm                $FG opt.kind=sgd_rm opt.rm_k0=50

xi-exact              $SF representation=xi sf.xi_set=exact
xi-prototypes         $SF representation=xi sf.xi_set=prototypes
xi-bins               $SF representation=xi sf.xi_set=bins sf.xi_bins=3
xi-reacher            reacher --methods sfrql,fg-sfrql $MUJOCO representation=xi sf.xi_max_centers=16
xi-bins-reacher       reacher --methods fg-sfrql $MUJOCO representation=xi sf.xi_set=bins sf.xi_bins=2
grad-mix              $FG gradient.kind=mix gradient.eta=0.5
target-hard           four_rooms --methods sfrql $MAP target.mode=hard target.period=7
target-polyak         four_rooms --methods sfrql $MAP target.mode=polyak target.polyak=0.05
update-all            $SF sf.update_set=all sf.lr_prior=1e-3
update-i_only         $FG sf.update_set=i_only
group                 $SF sf.group_by_prior=true sf.lr_prior=1e-3
prior-current_state   $SF sf.prior_select=current_state
init-previous         $SF sf.init_from=previous
gpi_scope-all         $FG gpi.scope=all
loss-mean             $FG loss.scale=mean
loss-sum              $FG loss.scale=sum
loss-double_sum       $FG loss.scale=double_sum
loss-mean_actions     $FG loss.scale=mean_actions
next-current-own      $FG sf.next_action_current=own
next-prior-gpi        $SF sf.next_action_prior=gpi
next-prior-own_mean   $FG sf.next_action_prior=own_mean
tie-random            $SF gpi.tie=random net.init=zeros
tie-hull              $SF gpi.tie=hull net.init=zeros
tie-first             $SF gpi.tie=first net.init=zeros
tie-random-hard       four_rooms --methods sfrql $MAP net.init=zeros gpi.tie=random target.mode=hard target.period=7

reward-known          $SF reward.model=known
reward-known-xi       $SF reward.model=known representation=xi env.step_cost=0.01
reward-lms            $FG reward.model=linear_lms
reward-rls            $FG reward.model=linear_rls
reward-rls-forgetting $FG reward.model=linear_rls reward.forgetting=0.99
reward-mlp            $FG reward.model=mlp representation=xi
slip                  four_rooms $MAP env.slip=0.2
step-cost             $FG env.step_cost=0.01
buffer-reset          $SF train.buffer_reset_on_task=true
buffer-wraps          $SF train.buffer_capacity=200
episodes              $FG tasks.schedule=random_episode
episodes-shared       $FG tasks.schedule=random_episode tasks.isolate_state=false
steps-shared          $FG tasks.schedule=random_step tasks.isolate_state=false tasks.warmup=first_task
eval-true             $SF eval.reward=true eval.epsilon=0.1
psi_error             $FG diag.psi_error=true train.steps_per_task=60

avg-replace           $AVERAGE avg.n=5 avg.shortfall=replace
avg-skip              $AVERAGE avg.n=3 avg.shortfall=skip
avg-critic-replace    $AVERAGE avg.n=5 avg.shortfall=replace avg.estimator=critic_only env.slip=0.2
avg-split-skip        $AVERAGE avg.n=4 avg.shortfall=skip avg.estimator=split env.slip=0.2
avg-split-available   $AVERAGE avg.n=4 avg.estimator=split env.slip=0.2
avg-pivots            $AVERAGE avg.n=5 avg.pivots=4 env.slip=0.2
avg-current           $AVERAGE avg.n=5 avg.pivots=1 avg.pivot_source=current env.slip=0.2
avg-own_mean          $AVERAGE avg.n=5 avg.next_action=own_mean env.slip=0.2
avg-policy_c_at_mean  $AVERAGE avg.n=5 avg.next_action=policy_c_at_mean env.slip=0.2
avg-semi              $AVERAGE avg.n=5 gradient.kind=semi target.mode=hard target.period=7 env.slip=0.2
avg-mix-split         $AVERAGE avg.n=4 avg.estimator=split gradient.kind=mix gradient.eta=0.5 env.slip=0.2
avg-xi                $AVERAGE avg.n=5 representation=xi env.slip=0.2
avg-wraps             $AVERAGE avg.n=3 train.buffer_capacity=200
avg-reset             averaging $SLIPS $MAP train.buffer_reset_on_task=true
avg-grid              point_maze --methods fg-sfrql-average $MUJOCO avg.n=3 avg.key=grid avg.grid_pitch=0.5

dqn-double            four_rooms --methods dqn $MAP target.double=true target.mode=hard target.period=7
dqn-polyak            four_rooms --methods dqn $MAP target.mode=polyak target.polyak=0.05
dqn-double-polyak     four_rooms --methods dqn $MAP target.double=true target.mode=polyak target.polyak=0.05
dqn-hard              four_rooms --methods dqn $MAP target.mode=hard target.period=7
dqn-shared            $DQN dqn.per_task=false
dqn-onehot            $DQN dqn.per_task=false dqn.task_input=onehot
dqn-w                 $DQN dqn.per_task=false dqn.task_input=w
dqn-w-relabel         $DQN dqn.per_task=false dqn.task_input=w dqn.relabel=true train.buffer_reset_on_task=false
dqn-relabel           $DQN dqn.relabel=true train.buffer_reset_on_task=false
dqn-mix               four_rooms --methods fg-dqn $MAP gradient.kind=mix gradient.eta=0.5
dqn-tie-random        $DQN gpi.tie=random net.init=zeros
dqn-tie-hull          $DQN gpi.tie=hull net.init=zeros

reacher-gymnasium     reacher --methods sfrql,fg-sfrql $MUJOCO env.reacher_dynamics=gymnasium env.reacher_target_in_state=true
reacher-lag           reacher --methods fg-sfrql $MUJOCO env.reacher_lag=true env.slip=0.1
maze-medium           point_maze --methods fg-sfrql $MUJOCO env.layout=medium env.goal_noise=0.2 env.terminate_on_goal=true
maze-large            point_maze --methods dqn,fg-sfrql $MUJOCO env.layout=large env.goal_in_state=false
"

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${FGSF_BUILD:-${tests%/*}/build}
python=$(command -v python3) || {
    echo "bits: python3 is not installed"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir nothing runs
cat >map <<'END'
_.1.X3.
..2....
1.X.2.3
...3..G
2...1..
END

# What was found is asked, not whether the environments work: broken ones must fail here.
have_mujoco=true
if grep -q '^FGSF_MUJOCO_.*-NOTFOUND$' "$build/CMakeCache.txt"; then
    have_mujoco=false
    echo "bits: built without MuJoCo: Reacher and PointMaze are left out"
    [ $# = 0 ] || exit 1 # the golden hashes would lose them
fi

while read -r name driver words; do
    case $name/$driver in
    /) continue ;;
    */reacher | */point_maze) $have_mujoco || continue ;;
    esac
    sizes=$ALL
    [ "$driver" = gradient_ablation ] || sizes="$ALL $SMALL"
    arguments=()
    for word in $sizes $words; do
        [[ $word != *=* || $word == *+* ]] || arguments+=(--set) # names of cells have a +
        arguments+=("$word")
    done
    # PATH leads to no gnuplot: figures are not the point.
    PATH=$work/nothing "$build/experiments/$driver" "${arguments[@]}" --out "runs/$name" \
        >log 2>&1 || {
        echo "bits: $name: exit code $?: $(cat log)"
        exit 1
    }
done <<<"$runs"

"$python" "$tests/bits.py" runs "$tests/golden/bits.csv" "$@"
