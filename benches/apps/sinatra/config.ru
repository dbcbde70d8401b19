# A weather diary with ERB, for Puma.
require 'sinatra/base'

# Burns PLANT_US microseconds of CPU time of the thread that serves each request.
class Plant
  LENGTH = ENV.fetch('PLANT_US', '0').to_f

  def initialize(app)
    @app = app
  end

  def call(env)
    ends = used + LENGTH
    nil while used < ends
    @app.call(env)
  end

  private

  def used
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_microsecond)
  end
end

class Diary < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :views, File.join(__dir__, 'views')

  DAYS = Array.new(365) do |n|
    { date: (Time.utc(2026, 1, 1) + n * 86_400).strftime('%Y-%m-%d'), high: 5 + n * 37 % 25, rain: n * 91 % 40 }
  end

  get '/months/:month' do
    month = format('2026-%02d', params[:month].to_i)
    @days = DAYS.select { |day| day[:date].start_with?(month) }
    erb :month
  end
end

use Plant if Plant::LENGTH.positive?
run Diary
