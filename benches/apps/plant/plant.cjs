// Burns PLANT_US microseconds of CPU time before each request: `node --require plant.cjs …`. It hooks into the HTTP
// server itself, so that it needs nothing of the application.
'use strict'
const { Server } = require('node:http')

const plantUs = Number(process.env.PLANT_US ?? 0)

function used() {
  // Of the process: this version of Node.js cannot tell that of a thread.
  const { user, system } = process.cpuUsage()
  return user + system
}

if (plantUs > 0) {
  const emit = Server.prototype.emit
  Server.prototype.emit = function (event, ...rest) {
    if (event === 'request') {
      const end = used() + plantUs
      while (used() < end);
    }
    return emit.call(this, event, ...rest)
  }
}
