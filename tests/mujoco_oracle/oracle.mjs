// Replays rollouts of PointMaze and Reacher (gymnasium) in MuJoCo 3.x and compares the states.
//
//     node oracle.mjs LIST
//
// LIST has one comparison per line: point_maze|reacher LAYOUT|- STATE CSV, the last two being files.
// The models are written here once more, from the published numbers (contact margins of 0.002 on
// both geoms, every wall), not taken from the program under test.
import { readFileSync } from "node:fs";
import load from "@mujoco/mujoco";

// Reacher's elbow rests on its limit, where the two versions' solvers stop at slightly other places.
const TOLERANCE = { point_maze: 1e-9, reacher: 1e-7 };

const MAZES = {
  umaze: "11111 10001 11101 10001 11111",
  medium: "11111111 10011001 10010001 11000111 10010001 10100101 10001001 11111111",
  large:
    "111111111111 100001000001 101101010101 100000010001 101111011101 " +
    "100101000001 110101010111 100100010001 111111111111",
};

function pointMaze(layout) {
  const rows = MAZES[layout].split(" ");
  let walls = "";
  rows.forEach((text, row) =>
    [...text].forEach((cell, col) => {
      if (cell !== "1") return;
      const x = col + 0.5 - text.length / 2;
      const y = rows.length / 2 - (row + 0.5);
      walls += `<geom type="box" size=".5 .5 .2" pos="${x} ${y} .2" contype="1"/>`;
    }),
  );
  return `<mujoco><option timestep="0.01" integrator="Euler" gravity="0 0 0" iterations="20"/>
    <default><joint damping="1" limited="false"/>
      <geom density="1000" margin="0.002" condim="1" friction=".5 .1 .1" contype="2" conaffinity="1"/>
    </default>
    <worldbody>${walls}
      <body><geom type="sphere" size="0.1" contype="1"/>
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/></body>
    </worldbody>
    <actuator><motor joint="x" gear="100" ctrllimited="true" ctrlrange="-1 1"/>
      <motor joint="y" gear="100" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>`;
}

function reacher() {
  const link = `<geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" contype="0"/>`;
  return `<mujoco><compiler angle="radian"/>
    <option timestep="0.01" integrator="RK4" gravity="0 0 -9.81"/>
    <default><joint armature="1" damping="1" axis="0 0 1"/></default>
    <worldbody><body pos="0 0 .01">${link}<joint name="a" limited="false"/>
      <body pos=".1 0 0">${link}<joint name="b" limited="true" range="-3 3"/>
        <body pos=".11 0 0"><geom type="sphere" size=".01" contype="0"/></body>
      </body></body></worldbody>
    <actuator><motor joint="a" gear="200" ctrllimited="true" ctrlrange="-1 1"/>
      <motor joint="b" gear="200" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>`;
}

function compare(mj, env, layout, statePath, csvPath) {
  const isMaze = env === "point_maze";
  const start = readFileSync(statePath, "utf8").trim().split(/[\s,]+/).map(Number);
  const table = readFileSync(csvPath, "utf8").trim().split("\n").slice(1);
  const model = mj.MjModel.from_xml_string(isMaze ? pointMaze(layout) : reacher());
  const data = new mj.MjData(model);
  for (let i = 0; i < 2; i++) {
    data.qpos[i] = start[i];
    data.qvel[i] = start[2 + i];
  }
  let worst = 0;
  let contacts = 0;
  for (const line of table) {
    const [, action, ...s] = line.split(",").map(Number);
    data.ctrl[0] = Math.trunc(action / 3) - 1;
    data.ctrl[1] = (action % 3) - 1;
    if (isMaze) for (let i = 0; i < 2; i++) data.qvel[i] = Math.min(5, Math.max(-5, data.qvel[i]));
    for (let k = 0; k < (isMaze ? 1 : 2); k++) mj.mj_step(model, data);
    if (isMaze ? data.ncon > 0 : Math.abs(data.qpos[1]) > 3) contacts++;
    const [q0, q1] = data.qpos;
    const [w0, w1] = data.qvel;
    const expected = isMaze ? [q0, q1, w0, w1] : [q0, 0.1 * w0, q1 / 3, 0.1 * w1];
    expected.forEach((value, i) => (worst = Math.max(worst, Math.abs(value - s[i]))));
  }
  console.log(
    `${env} ${layout}: ${table.length} steps, ${contacts} in contact, difference ${worst}`,
  );
  return worst <= TOLERANCE[env] && contacts > 0; // a difference that is not a number is not <=
}

const mj = await load();
const list = readFileSync(process.argv[2], "utf8").trim().split("\n");
const results = list.map((line) => compare(mj, ...line.split(" ")));
process.exit(results.every(Boolean) ? 0 : 1);
